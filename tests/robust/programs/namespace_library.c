/* What `raw_fork` loads into a namespace of its own: NVTX alone. */
#include <nvtx3/nvToolsExt.h>

unsigned namespace_work(unsigned ranges);
unsigned namespace_work(unsigned ranges)
{
    for (unsigned i = 0; i < ranges; i++) {
        nvtxRangePushA("there");
        nvtxRangePop();
    }
    return ranges;
}
