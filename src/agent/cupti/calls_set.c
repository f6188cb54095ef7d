/* Memory set to a value: rows and rectangles, of 1, 2 or 4 bytes a value. */
#include "agent/cupti/driver_calls.h"

static struct gputrace_memset begin(const struct driver_return *returned, uint64_t address, uint32_t value,
                                    uint32_t value_bytes)
{
    return (struct gputrace_memset){
        .call = returned->call,
        .address = address,
        .per_thread = returned->row->per_thread,
        .value = value,
        .value_bytes = value_bytes,
    };
}

/* WIDTH in values. */
static void set_extent(struct gputrace_memset *set, uint64_t width, uint64_t height, uint64_t pitch)
{
    set->width = width * set->value_bytes;
    set->height = height;
    set->pitch = height > 1 ? pitch : 0;
    set->bytes = set->width * height;
}

static void set_stream(struct gputrace_memset *set, const struct driver_return *returned, CUstream stream)
{
    set->stream = driver_call_stream(returned, stream);
    set->stream_given = 1;
}

#define TELL(function, value, value_bytes, width, height, pitch, given)                 \
    static void tell_##function(const struct driver_return *returned)                   \
    {                                                                                   \
        const function##_params *p = returned->params;                                  \
        struct gputrace_memset set = begin(returned, p->dstDevice, value, value_bytes); \
        set_extent(&set, width, height, pitch);                                         \
        given;                                                                          \
        registry_memset_publish(&set);                                                  \
    }
#define ROW(function, value, bytes) TELL(function, value, bytes, p->N, 1, 0, (void)0)
#define ROW_ASYNC(function, value, bytes) \
    TELL(function, value, bytes, p->N, 1, 0, set_stream(&set, returned, p->hStream))
#define RECTANGLE(function, value, bytes) TELL(function, value, bytes, p->Width, p->Height, p->dstPitch, (void)0)
#define RECTANGLE_ASYNC(function, value, bytes) \
    TELL(function, value, bytes, p->Width, p->Height, p->dstPitch, set_stream(&set, returned, p->hStream))

ROW(cuMemsetD8_v2, p->uc, 1)
ROW(cuMemsetD16_v2, p->us, 2)
ROW(cuMemsetD32_v2, p->ui, 4)
ROW_ASYNC(cuMemsetD8Async, p->uc, 1)
ROW_ASYNC(cuMemsetD16Async, p->us, 2)
ROW_ASYNC(cuMemsetD32Async, p->ui, 4)
RECTANGLE(cuMemsetD2D8_v2, p->uc, 1)
RECTANGLE(cuMemsetD2D16_v2, p->us, 2)
RECTANGLE(cuMemsetD2D32_v2, p->ui, 4)
RECTANGLE_ASYNC(cuMemsetD2D8Async, p->uc, 1)
RECTANGLE_ASYNC(cuMemsetD2D16Async, p->us, 2)
RECTANGLE_ASYNC(cuMemsetD2D32Async, p->ui, 4)

#define SET REGISTRY_BIT(memset)

static const struct driver_call rows[] = {
    DRIVER_CALL_PTDS(cuMemsetD8_v2, SET, tell_cuMemsetD8_v2, NULL),
    DRIVER_CALL_PTDS(cuMemsetD16_v2, SET, tell_cuMemsetD16_v2, NULL),
    DRIVER_CALL_PTDS(cuMemsetD32_v2, SET, tell_cuMemsetD32_v2, NULL),
    DRIVER_CALL_PTDS(cuMemsetD2D8_v2, SET, tell_cuMemsetD2D8_v2, NULL),
    DRIVER_CALL_PTDS(cuMemsetD2D16_v2, SET, tell_cuMemsetD2D16_v2, NULL),
    DRIVER_CALL_PTDS(cuMemsetD2D32_v2, SET, tell_cuMemsetD2D32_v2, NULL),
    DRIVER_CALL_PTSZ(cuMemsetD8Async, SET, tell_cuMemsetD8Async, NULL),
    DRIVER_CALL_PTSZ(cuMemsetD16Async, SET, tell_cuMemsetD16Async, NULL),
    DRIVER_CALL_PTSZ(cuMemsetD32Async, SET, tell_cuMemsetD32Async, NULL),
    DRIVER_CALL_PTSZ(cuMemsetD2D8Async, SET, tell_cuMemsetD2D8Async, NULL),
    DRIVER_CALL_PTSZ(cuMemsetD2D16Async, SET, tell_cuMemsetD2D16Async, NULL),
    DRIVER_CALL_PTSZ(cuMemsetD2D32Async, SET, tell_cuMemsetD2D32Async, NULL),
};

const struct driver_calls set_calls = DRIVER_CALLS(rows);
