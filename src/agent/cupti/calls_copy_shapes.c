/*
 * Copies of rectangles and boxes: what they copy stands in a struct of the program's, which the call points to.
 *
 * Addresses are told with the offsets into them added. A struct that is not there (NULL: the call failed) is told as a
 * copy of nothing.
 */
#include "agent/cupti/copies.h"

/* A side as the structs for rectangles and boxes have it. */
struct side {
    CUmemorytype type;
    uint64_t host, device, array;
    uint64_t pitch, rows;
    uint64_t x, y, z;
};

/* Side `src` or `dst` of a rectangle, or of a box. */
#define RECTANGLE_SIDE(copied, which)                                                             \
    (struct side)                                                                                 \
    {                                                                                             \
        .type = (copied)->which##MemoryType, .host = driver_call_integer((copied)->which##Host),  \
        .device = (copied)->which##Device, .array = driver_call_integer((copied)->which##Array),  \
        .pitch = (copied)->which##Pitch, .x = (copied)->which##XInBytes, .y = (copied)->which##Y, \
    }
#define BOX_SIDE(copied, which) in_box(RECTANGLE_SIDE(copied, which), (copied)->which##Z, (copied)->which##Height)

static struct side in_box(struct side side, uint64_t z, uint64_t rows)
{
    side.z = z;
    side.rows = rows;
    return side;
}

static struct gputrace_place array_place(const struct side *side)
{
    return (struct gputrace_place){
        .address = side->array,
        .array = 1,
        .x = (uint32_t)side->x,
        .y = (uint32_t)side->y,
        .z = (uint32_t)side->z,
    };
}

/* HEIGHT and DEPTH of the copy say whether there is a next row or slice at all. */
static struct gputrace_place linear_place(const struct side *side, uint64_t base, uint64_t height, uint64_t depth)
{
    return (struct gputrace_place){
        .address = base + (side->z * side->rows + side->y) * side->pitch + side->x,
        .pitch = height > 1 || depth > 1 ? side->pitch : 0,
        .rows = depth > 1 ? side->rows : 0,
    };
}

/* Gives the letter of gputrace_memcpy's sides. */
static char read_side(const struct side *side, uint64_t height, uint64_t depth, struct gputrace_place *place)
{
    switch (side->type) {
    case CU_MEMORYTYPE_ARRAY: *place = array_place(side); return 'A';
    case CU_MEMORYTYPE_HOST: *place = linear_place(side, side->host, height, depth); return 'H';
    case CU_MEMORYTYPE_DEVICE: *place = linear_place(side, side->device, height, depth); return 'D';
    default: *place = linear_place(side, side->device, height, depth); return '?'; /* unified */
    }
}

static void set_sides(struct gputrace_memcpy *copy, struct side target, struct side source)
{
    copy->target_side = read_side(&target, copy->height, copy->depth, &copy->target);
    copy->source_side = read_side(&source, copy->height, copy->depth, &copy->source);
}

#define TELL(function, read, given)                                   \
    static void tell_##function(const struct driver_return *returned) \
    {                                                                 \
        const function##_params *p = returned->params;                \
        struct gputrace_memcpy copy = copy_begin(returned);           \
        if (p->pCopy) {                                               \
            read;                                                     \
        }                                                             \
        given;                                                        \
        registry_memcpy_publish(&copy);                               \
    }
#define RECTANGLE                                                        \
    copy_set_extent(&copy, p->pCopy->WidthInBytes, p->pCopy->Height, 1); \
    set_sides(&copy, RECTANGLE_SIDE(p->pCopy, dst), RECTANGLE_SIDE(p->pCopy, src))
#define BOX                                                                            \
    copy_set_extent(&copy, p->pCopy->WidthInBytes, p->pCopy->Height, p->pCopy->Depth); \
    set_sides(&copy, BOX_SIDE(p->pCopy, dst), BOX_SIDE(p->pCopy, src))
#define IN_STREAM copy_set_stream(&copy, returned, p->hStream)

TELL(cuMemcpy2D_v2, RECTANGLE, (void)0)
TELL(cuMemcpy2DAsync_v2, RECTANGLE, IN_STREAM)
TELL(cuMemcpy3D_v2, BOX, (void)0)
TELL(cuMemcpy3DAsync_v2, BOX, IN_STREAM)
TELL(cuMemcpy3DPeer, BOX, (void)0)
TELL(cuMemcpy3DPeerAsync, BOX, IN_STREAM)

#define COPY REGISTRY_BIT(memcpy)

static const struct driver_call rows[] = {
    DRIVER_CALL_PTDS(cuMemcpy2D_v2, COPY, tell_cuMemcpy2D_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpy2DUnaligned_v2, COPY, tell_cuMemcpy2D_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpy2DAsync_v2, COPY, tell_cuMemcpy2DAsync_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpy3D_v2, COPY, tell_cuMemcpy3D_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpy3DAsync_v2, COPY, tell_cuMemcpy3DAsync_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpy3DPeer, COPY, tell_cuMemcpy3DPeer, NULL),
    DRIVER_CALL_PTSZ(cuMemcpy3DPeerAsync, COPY, tell_cuMemcpy3DPeerAsync, NULL),
};

const struct driver_calls copy_shape_calls = DRIVER_CALLS(rows);
