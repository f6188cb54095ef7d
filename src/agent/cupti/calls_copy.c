/*
 * Copies: of rows, by cuMemcpyHtoD and its kin, from here; of rectangles, boxes and batches, calls_copy_shapes.c.
 */
#include "agent/cupti/copies.h"

/* One side of a copy of one row: memory, or an array from a byte on. */
static struct gputrace_place memory(uint64_t address)
{
    return (struct gputrace_place){.address = address};
}

static struct gputrace_place array(CUarray handle, size_t offset)
{
    return (struct gputrace_place){.address = driver_call_integer(handle), .array = 1, .x = (uint32_t)offset};
}

/* TARGET and SOURCE are expressions of `p`, the parameters; the letters are those of gputrace_memcpy's sides. */
#define TELL(function, target_letter, target_place, source_letter, source_place, given) \
    static void tell_##function(const struct driver_return *returned)                   \
    {                                                                                   \
        const function##_params *p = returned->params;                                  \
        struct gputrace_memcpy copy = copy_begin(returned);                             \
        copy.target = target_place;                                                     \
        copy.target_side = target_letter;                                               \
        copy.source = source_place;                                                     \
        copy.source_side = source_letter;                                               \
        copy_set_extent(&copy, p->ByteCount, 1, 1);                                     \
        given;                                                                          \
        registry_memcpy_publish(&copy);                                                 \
    }
#define SYNC(function, target_letter, target, source_letter, source) \
    TELL(function, target_letter, target, source_letter, source, (void)0)
#define ASYNC(function, target_letter, target, source_letter, source) \
    TELL(function, target_letter, target, source_letter, source, copy_set_stream(&copy, returned, p->hStream))

#define HOST(side) memory(driver_call_integer(p->side##Host))
#define DEVICE(side) memory(p->side##Device)
#define ARRAY(side) array(p->side##Array, p->side##Offset)

SYNC(cuMemcpyHtoD_v2, 'D', DEVICE(dst), 'H', HOST(src))
SYNC(cuMemcpyDtoH_v2, 'H', HOST(dst), 'D', DEVICE(src))
SYNC(cuMemcpyDtoD_v2, 'D', DEVICE(dst), 'D', DEVICE(src))
SYNC(cuMemcpyDtoA_v2, 'A', ARRAY(dst), 'D', DEVICE(src))
SYNC(cuMemcpyAtoD_v2, 'D', DEVICE(dst), 'A', ARRAY(src))
SYNC(cuMemcpyHtoA_v2, 'A', ARRAY(dst), 'H', HOST(src))
SYNC(cuMemcpyAtoH_v2, 'H', HOST(dst), 'A', ARRAY(src))
SYNC(cuMemcpyAtoA_v2, 'A', ARRAY(dst), 'A', ARRAY(src))
SYNC(cuMemcpy, '?', memory(p->dst), '?', memory(p->src))
SYNC(cuMemcpyPeer, 'D', DEVICE(dst), 'D', DEVICE(src))
ASYNC(cuMemcpyHtoDAsync_v2, 'D', DEVICE(dst), 'H', HOST(src))
ASYNC(cuMemcpyDtoHAsync_v2, 'H', HOST(dst), 'D', DEVICE(src))
ASYNC(cuMemcpyDtoDAsync_v2, 'D', DEVICE(dst), 'D', DEVICE(src))
ASYNC(cuMemcpyHtoAAsync_v2, 'A', ARRAY(dst), 'H', HOST(src))
ASYNC(cuMemcpyAtoHAsync_v2, 'H', HOST(dst), 'A', ARRAY(src))
ASYNC(cuMemcpyAsync, '?', memory(p->dst), '?', memory(p->src))
ASYNC(cuMemcpyPeerAsync, 'D', DEVICE(dst), 'D', DEVICE(src))

#define COPY REGISTRY_BIT(memcpy)

static const struct driver_call rows[] = {
    DRIVER_CALL_PTDS(cuMemcpyHtoD_v2, COPY, tell_cuMemcpyHtoD_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyDtoH_v2, COPY, tell_cuMemcpyDtoH_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyDtoD_v2, COPY, tell_cuMemcpyDtoD_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyDtoA_v2, COPY, tell_cuMemcpyDtoA_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyAtoD_v2, COPY, tell_cuMemcpyAtoD_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyHtoA_v2, COPY, tell_cuMemcpyHtoA_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyAtoH_v2, COPY, tell_cuMemcpyAtoH_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpyAtoA_v2, COPY, tell_cuMemcpyAtoA_v2, NULL),
    DRIVER_CALL_PTDS(cuMemcpy, COPY, tell_cuMemcpy, NULL),
    DRIVER_CALL_PTDS(cuMemcpyPeer, COPY, tell_cuMemcpyPeer, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyHtoDAsync_v2, COPY, tell_cuMemcpyHtoDAsync_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyDtoHAsync_v2, COPY, tell_cuMemcpyDtoHAsync_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyDtoDAsync_v2, COPY, tell_cuMemcpyDtoDAsync_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyHtoAAsync_v2, COPY, tell_cuMemcpyHtoAAsync_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyAtoHAsync_v2, COPY, tell_cuMemcpyAtoHAsync_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyAsync, COPY, tell_cuMemcpyAsync, NULL),
    DRIVER_CALL_PTSZ(cuMemcpyPeerAsync, COPY, tell_cuMemcpyPeerAsync, NULL),
};

const struct driver_calls copy_calls = DRIVER_CALLS(rows);
