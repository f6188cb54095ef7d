#include "tool/decode/error_names.h"

#include <stddef.h>

const char *runtime_error_name(int64_t number)
{
    switch (number) {
#include "tool/decode/runtime_errors.inc"
    default: return NULL;
    }
}

const char *driver_error_name(int64_t number)
{
    switch (number) {
#include "tool/decode/driver_errors.inc"
    default: return NULL;
    }
}
