#include "injected/collect/captures.h"

#include "injected/collect/driver_library.h"

static struct {
    CUresult (*cuStreamIsCapturing)(CUstream stream, CUstreamCaptureStatus *status); /* NULL: was not found */
} driver;

unsigned captures_going_on;

void captures_init(void)
{
    static const char *const name = "cuStreamIsCapturing";
    if (!driver.cuStreamIsCapturing && !driver_library_find(&driver, &name, 1))
        driver.cuStreamIsCapturing = NULL;
}

void captures_begin(void)
{
    __atomic_add_fetch(&captures_going_on, 1, __ATOMIC_RELAXED);
}

/* Of one whose begin was not heard there is nothing to end. */
void captures_end(void)
{
    unsigned before = __atomic_load_n(&captures_going_on, __ATOMIC_RELAXED);
    while (before > 0 && !__atomic_compare_exchange_n(&captures_going_on, &before, before - 1, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED))
        ;
}

/* The legacy default stream is refused while others are captured: it is not. */
bool captures_ask(CUstream stream)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return driver.cuStreamIsCapturing && driver.cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void captures_leave(void)
{
    captures_going_on = 0;
}

void captures_replace_driver(CUresult (*is_capturing)(CUstream stream, CUstreamCaptureStatus *status))
{
    driver.cuStreamIsCapturing = is_capturing;
}
