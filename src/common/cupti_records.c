#include "common/cupti_records.h"

#include <stddef.h>

static const struct {
    uint32_t kind, since;
    uint16_t bytes;
} rows[] = {
#define ROW(number, kind, since, bytes, type) {number, since, bytes},
    CUPTI_RECORDS(ROW)
#undef ROW
};

uint16_t cupti_record_bytes(uint32_t kind, uint32_t version)
{
    uint16_t bytes = 0;
    if (version >= CUPTI_13_1)
        return 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].kind == kind && rows[i].since <= version)
            bytes = rows[i].bytes;
    return bytes;
}
