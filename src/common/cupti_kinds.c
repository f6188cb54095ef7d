/* The table of CUPTI's kinds with the sizes of their records by CUPTI's version. */
#include "common/cupti_kinds.h"

const struct cupti_kind cupti_kinds[CUPTI_KIND_COUNT] = {
#define SIZE(since, bytes, type) {since, bytes},
#define KIND(number, name, groups, on, sizes) {number, CUPTI_KIND_##on, groups, {sizes}},
    CUPTI_KINDS(KIND)
#undef KIND
#undef SIZE
};

uint16_t cupti_record_bytes(uint32_t kind, uint32_t version)
{
    uint16_t bytes = 0;
    for (size_t i = 0; i < CUPTI_KIND_COUNT && version < CUPTI_13_1; i++)
        for (size_t j = 0; cupti_kinds[i].number == kind && j < 4 && cupti_kinds[i].sizes[j].bytes; j++)
            if (cupti_kinds[i].sizes[j].since <= version)
                bytes = cupti_kinds[i].sizes[j].bytes;
    return bytes;
}
