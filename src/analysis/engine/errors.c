/* Decides which errors are failures, and counts failures by code, and by function and code. */
#include "analysis/engine/errors.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"
#include "common/text.h"
#include "trace/spool/cupti.h"

#define NO_BINARY 209 /* CUDA_ERROR_NO_BINARY_FOR_GPU */
#define NOT_READY 600 /* cudaErrorNotReady, CUDA_ERROR_NOT_READY and hipErrorNotReady */
/* The runtime, the driver and HIP share these numbers. */
#define INVALID_VALUE 1 /* such as a pointer that CUDA does not know */
#define NOT_FOUND 500
#define PEER_ACCESS_ENABLED 704 /* access is already enabled */
#define PEER_ACCESS_NOT_ENABLED 705

/* Errors that are not failures. */
static const struct expected_result {
    const char *function;
    int64_t code; /* 0: any error */
} expected_results[] = {
    {"cudaGetLastError", 0},
    {"cudaPeekAtLastError", 0},
    {"cudaEventQuery", NOT_READY},
    {"cudaStreamQuery", NOT_READY},
    {"cuEventQuery", NOT_READY},
    {"cuStreamQuery", NOT_READY},
    {"cuLibraryGetKernel", NO_BINARY},
    {"hipGetLastError", 0},
    {"hipPeekAtLastError", 0},
    {"hipExtGetLastError", 0},
    {"hipEventQuery", NOT_READY},
    {"hipStreamQuery", NOT_READY},
    {"cudaDeviceEnablePeerAccess", PEER_ACCESS_ENABLED},
    {"cuCtxEnablePeerAccess", PEER_ACCESS_ENABLED},
    {"hipDeviceEnablePeerAccess", PEER_ACCESS_ENABLED},
    {"cudaDeviceDisablePeerAccess", PEER_ACCESS_NOT_ENABLED},
    {"cuCtxDisablePeerAccess", PEER_ACCESS_NOT_ENABLED},
    {"hipDeviceDisablePeerAccess", PEER_ACCESS_NOT_ENABLED},
    {"cudaPointerGetAttributes", INVALID_VALUE},
    {"cuPointerGetAttribute", INVALID_VALUE},
    {"cuPointerGetAttributes", INVALID_VALUE},
    {"hipPointerGetAttributes", INVALID_VALUE},
    {"cuGetProcAddress", NOT_FOUND},
};

bool errors_is_failure(const struct interner *strings, const struct event_fields *event)
{
    if (event->return_value == FIELD_ABSENT || event->return_value == 0)
        return false;
    const char *name = event->name == EVENT_NO_TEXT ? "" : interned(strings, event->name);
    for (size_t i = 0; i < sizeof(expected_results) / sizeof(*expected_results); i++) {
        const struct expected_result *expected = &expected_results[i];
        size_t length = strlen(expected->function);
        /* The name may have a suffix for its version or variant: cudaStreamQuery_ptsz_v7000. */
        if (strncmp(name, expected->function, length) == 0 && (name[length] == '\0' || name[length] == '_'))
            return expected->code != 0 && expected->code != event->return_value;
    }
    return true;
}

void errors_add(struct errors *errors, const struct event_fields *event)
{
    bool of_runtime = event->category == CATEGORY_CUDA_RUNTIME;
    errors->count++;
    for (unsigned i = 0; i < errors->kinds; i++) {
        struct error_kind *kind = &errors->kind[i];
        if (kind->code == event->return_value && kind->of_runtime == of_runtime) {
            kind->count++;
            return;
        }
    }
    if (errors->kinds < ERROR_KINDS)
        errors->kind[errors->kinds++] = (struct error_kind){event->return_value, 1, of_runtime};
}

static void write_error(struct buffer *text, bool of_runtime, int64_t code)
{
    const char *name = of_runtime ? runtime_error_name(code) : driver_error_name(code);
    if (name)
        buffer_format(text, "%s (%" PRId64 ")", name, code);
    else
        buffer_format(text, "error %" PRId64, code);
}

ORDER_WITH(by_count, struct error_kind,
           ORDER(b->count, a->count) ?: ORDER(a->code, b->code) ?: ORDER(b->of_runtime, a->of_runtime))

struct cell errors_cell(const struct errors *errors, struct table *table)
{
    struct errors sorted = *errors;
    struct buffer text;
    uint64_t rest = errors->count;
    if (errors->count == 0)
        return (struct cell){0};
    qsort(sorted.kind, sorted.kinds, sizeof(*sorted.kind), by_count);
    buffer_init_memory(&text);
    for (unsigned i = 0; i < sorted.kinds; i++) {
        if (sorted.kind[i].count < errors->count)
            buffer_format(&text, "%s%s × ", i > 0 ? ", " : "", text_count(sorted.kind[i].count, NULL).text);
        write_error(&text, sorted.kind[i].of_runtime, sorted.kind[i].code);
        rest -= sorted.kind[i].count;
    }
    if (rest > 0)
        buffer_format(&text, ", %s", text_count(rest, "other").text);
    return table_text_from_buffer(table, &text);
}

struct cell error_cell(struct table *table, bool of_runtime, int64_t code)
{
    struct buffer text;
    buffer_init_memory(&text);
    write_error(&text, of_runtime, code);
    return table_text_from_buffer(table, &text);
}

int failures_add(struct failures *failures, const struct event_fields *event)
{
    struct failure_key key = {event->name, event->return_value, event->category == CATEGORY_CUDA_RUNTIME};
    struct failure *failure = dense_map_item(&failures->keys, &key, &failures->items);
    if (!failure)
        return -1;
    failure->first = failure->count == 0 || event->start < failure->first ? event->start : failure->first;
    failure->last = failure->count == 0 || event->start > failure->last ? event->start : failure->last;
    failure->count++;
    return 0;
}

/* Errors after which a process cannot use CUDA any more; CUresult and cudaError_t have the same numbers. */
static const struct {
    int64_t code;
    const char *words;
} lasting_errors[] = {
    {214, "uncorrectable ECC error"},
    {220, "uncorrectable NVLink error"},
    {226, "exception that the GPU contained"},
    {700, "illegal memory access"},
    {702, "the kernel took longer than is allowed"},
    {710, "assertion in a kernel"},
    {714, "stack error in a kernel"},
    {715, "illegal instruction in a kernel"},
    {716, "misaligned memory access"},
    {717, "operation on the wrong address space"},
    {718, "invalid program counter in a kernel"},
    {719, "a kernel failed"},
    {721, "a kernel kept its tensor memory"},
    {810, "terminated by the MPS server"},
    {911, "error of a device outside of CUDA"},
};

const char *error_lasting_words(int64_t code)
{
    for (size_t i = 0; i < sizeof(lasting_errors) / sizeof(*lasting_errors); i++)
        if (lasting_errors[i].code == code)
            return lasting_errors[i].words;
    return NULL;
}
