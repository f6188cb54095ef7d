#include <assert.h>
#include <cupti_activity.h>
#include <cupti_version.h>

#include "trace/spool/cupti.h"
#include "common/cupti_records.h"

#if CUPTI_API_VERSION < 130000
#error \
    "CUPTI's headers are too old: gputrace is built with those of CUDA 13.0 or newer (it traces with CUPTI 11.8 or newer)"
#endif

#define ROW(number, kind, since, bytes, type)                                                          \
    static_assert((number) == CUPTI_ACTIVITY_KIND_##kind, "the number of CUPTI_ACTIVITY_KIND_" #kind); \
    static_assert((bytes) == sizeof(CUpti_Activity##type), "the size of CUpti_Activity" #type);
CUPTI_RECORDS(ROW)
#undef ROW

void cupti_record_sizes(uint16_t sizes[SPOOL_CUPTI_KINDS], const struct spool_header *header)
{
    for (uint32_t kind = 0; kind < SPOOL_CUPTI_KINDS; kind++) {
        uint16_t told = header->record_bytes[kind];
        sizes[kind] = told >= 8 && told % 8 == 0 ? told : cupti_record_bytes(kind, header->cupti_version);
    }
}
