#include "agent/ranges/current_context.h"

#include <stddef.h>

#include "agent/cupti/cupti_ids.h"
#include "agent/ranges/driver.h"
#include "agent/dispatch/aside.h"

void current_context_find(struct gputrace_call *call)
{
    const struct driver *driver = driver_functions();
    CUcontext context = NULL;
    struct aside aside;
    if (!driver || !aside_begin(&aside))
        return;
    if (driver->cuCtxGetCurrent(&context) == CUDA_SUCCESS && context)
        cupti_ids_of_context(context, call);
    aside_end(&aside);
}
