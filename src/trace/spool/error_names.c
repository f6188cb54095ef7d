#include "trace/spool/error_names.h"

#include <stddef.h>

const char *runtime_error_name(int64_t number)
{
    switch (number) {
#include "trace/spool/runtime_errors.inc"
    default: return NULL;
    }
}

const char *driver_error_name(int64_t number)
{
    switch (number) {
#include "trace/spool/driver_errors.inc"
    default: return NULL;
    }
}
