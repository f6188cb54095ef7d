/*
 * Operators of kernels that compiled code launches.
 *
 * torch.profiler has an operator for each launch of a Triton kernel that TorchInductor made, with the kernel's name,
 * because Inductor opens one while torch.profiler runs. Without torch.profiler it does not, so the operator is made
 * here: it lasts as long as the call that launches the kernel.
 *
 * A kernel is Inductor's if it has a name as Inductor makes them ("triton_poi_fused_add_0"), and the innermost operator
 * around its launch is compiled code itself: a region that Dynamo compiled, or the forward or the backward pass of one.
 * Kernels that a program launches itself fail one or both, also within an operator that compiled code calls. Nor do
 * launches count within a range of Dynamo's own timer, in which Inductor measures kernels.
 */
#include "trace/meaning/torch/compiled_launches.h"

#include <ctype.h>
#include <string.h>

#include "common/log.h"
#include "common/lookup.h"
#include "trace/meaning/base/piece_writer.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/launches/kernel_names.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/nvtx/nvtx.h"

static int no_memory(void)
{
    return error_no_memory("operators");
}

/* --- which launches they are --- */

/* "triton_", the kind, what is fused in it, and a number. */
static bool is_inductors(const struct name *name)
{
    static const char prefix[] = "triton_";
    /* foreach, persistent reduction, pointwise, reduction, split scan, template, none of these */
    static const char *const kinds[] = {"for_", "per_", "poi_", "red_", "spl_", "tem_", "unk_"};
    const size_t length = sizeof(prefix) - 1, kind = sizeof("for_") - 1;
    if (name->length <= length + kind || memcmp(name->text, prefix, length) != 0 ||
        !isdigit((unsigned char)name->text[name->length - 1]))
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
        if (memcmp(name->text + length, kinds[i], kind) == 0)
            return true;
    return false;
}

static bool begins_with(struct operator_text text, const char *prefix, bool whole)
{
    size_t length = strlen(prefix);
    return text.length >= length && memcmp(text.text, prefix, length) == 0 && (!whole || text.length == length);
}

static bool is_compiled_code(struct operator_text text)
{
    return begins_with(text, "CompiledFunction", true) || begins_with(text, "CompiledFunctionBackward", true) ||
           begins_with(text, "Torch-Compiled Region", false);
}

static bool is_timer(struct operator_text text)
{
    static const char ending[] = " (dynamo_timed)";
    const size_t length = sizeof(ending) - 1;
    return text.length >= length && memcmp(text.text + text.length - length, ending, length) == 0;
}

static bool is_in_compiled_code(struct compiled_found *found, const struct process *process,
                                const struct launch *launch)
{
    const struct nvtx *nvtx = process->nvtx;
    uint32_t within =
        nvtx_innermost(nvtx, &found->places, launch->thread, NVTX_DOMAIN_OF_KIND(NVTX_OPERATOR), launch->start);
    if (within == 0 || !is_compiled_code(operator_name(process, within - 1)))
        return false;
    uint32_t annotation =
        nvtx_innermost(nvtx, &found->places, launch->thread, NVTX_DOMAIN_OF_KIND(NVTX_ANNOTATION), launch->start);
    return annotation == 0 || nvtx->ranges.items[annotation - 1].start < nvtx->ranges.items[within - 1].start ||
           !is_timer(operator_name(process, annotation - 1));
}

int compiled_look(struct compiled_found *found, const struct process *process, const struct event *event,
                  const struct launch *launch)
{
    if (!process->operators->any || event->type != EVENT_KERNEL || event->kernel.graph != 0)
        return 0;
    uint32_t name = kernel_name_number(process, event);
    if (name == NAMES_NO_MEMORY || !is_inductors(names_get(&process->conversion->names, name)) ||
        !is_in_compiled_code(found, process, launch))
        return 0;
    struct compiled_launch compiled = {.correlation = event->correlation, .name = name};
    return ADD(array_push, &found->items, compiled) ? 0 : no_memory();
}

int compiled_take(struct operators *operators, struct compiled_found *found)
{
    for (size_t i = 0; i < found->items.count; i++)
        if (!ADD(file_vector_push, &operators->compiled, found->items.items[i]))
            return no_memory();
    found->items.count = 0;
    return 0;
}

void compiled_found_release(struct compiled_found *found)
{
    array_release(&found->items);
}

ORDER_BY(by_correlation, struct compiled_launch, correlation, name)

int compiled_order(struct operators *operators)
{
    return file_vector_sort(&operators->compiled, by_correlation) == 0 ? 0 : no_memory();
}

/* --- writing --- */

void write_compiled_operator(struct piece_writer *out, const struct process *process, const struct event *event,
                             struct row row)
{
    size_t number = compiled_find(process->operators, event->correlation);
    const struct launch *launch = number ? launches_get(process->launches, event->correlation) : NULL;
    struct args args = {0};
    if (!launch || !launch_is_call(launch, event))
        return;
    add_operator_around(out, &args, process, event->correlation, event->thread, event->start);
    if (row.tid != event->thread) /* a further row of the thread */
        args_u64(&args, ARG_THREAD, event->thread);
    const struct name *name =
        names_get(&process->conversion->names, process->operators->compiled.items[number - 1].name);
    piece_writer_slice(out, CATEGORY_CPU_OP, *name, row, event->start, event->end, &args);
}
