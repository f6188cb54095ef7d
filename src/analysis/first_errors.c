#include "analysis/first_errors.h"

#include <stddef.h>

/* Of CUresult and cudaError_t alike. */
static const struct {
    int64_t code;
    const char *words;
} lasting[] = {
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

const char *first_error_words(int64_t code)
{
    for (size_t i = 0; i < sizeof(lasting) / sizeof(lasting[0]); i++)
        if (lasting[i].code == code)
            return lasting[i].words;
    return NULL;
}

static int64_t end_of(const struct first_error *error)
{
    return error->start + error->duration;
}

int first_errors_see(struct first_errors *errors, const struct trace_event *event)
{
    if (event->return_value == EVENT_NONE || event->return_value == 0 || !first_error_words(event->return_value))
        return 0;
    struct first_error seen = {.process = event->process,
                               .thread = event->thread,
                               .name = event->name,
                               .start = event->start,
                               .duration = event->duration,
                               .code = event->return_value,
                               .of_runtime = event->category == EVENT_RUNTIME};
    struct first_error *first = groups_item(&errors->ids, &seen.process, &errors->items);
    if (!first)
        return -1;
    if (first->code == 0 || end_of(&seen) < end_of(first))
        *first = seen;
    return 0;
}

void first_errors_release(struct first_errors *errors)
{
    groups_release(&errors->ids);
    array_release(&errors->items);
}
