/*
 * Operators for kernels that compiled code launches; in the second half, lines of GPU operations of the backward pass.
 *
 * While torch.profiler runs, TorchInductor opens an operator around each launch of its Triton kernels, with the
 * kernel's name. Without torch.profiler it opens none, so the operator is made here: it lasts as long as the call that
 * launches the kernel.
 *
 * A kernel is Inductor's if it has a name as Inductor makes them ("triton_poi_fused_add_0"), and the innermost operator
 * around its launch is compiled code itself: a region that Dynamo compiled, or the forward or the backward pass of one.
 * Kernels that a program launches itself fail one of these tests, even within an operator that compiled code calls.
 * Launches within a range of Dynamo's own timer do not count, because Inductor measures kernels there.
 */
#include "trace/meaning/torch/torch_launches.h"

#include <ctype.h>
#include <string.h>

#include "common/log.h"
#include "common/array.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/base/stacks.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/nvtx/nvtx.h"

/* --- launches by compiled code --- */

/* Whether a name is made of "triton_", a kind, what is fused, and a number. */
static bool is_inductors(const struct name *name)
{
    static const char prefix[] = "triton_";
    /* foreach, persistent reduction, pointwise, reduction, split scan, template, unknown */
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

static bool is_in_compiled_code(struct compiled_found *found, const struct process *process,
                                const struct launch *launch)
{
    const struct nvtx *nvtx = process->nvtx;
    uint32_t within =
        nvtx_innermost(nvtx, &found->places, launch->thread, NVTX_DOMAIN_OF_KIND(NVTX_OPERATOR), launch->start);
    if (within == 0)
        return false;
    struct operator_text name = operator_name(process, within - 1);
    if (!begins_with(name, "CompiledFunction", true) && !begins_with(name, "CompiledFunctionBackward", true) &&
        !begins_with(name, "Torch-Compiled Region", false))
        return false;
    uint32_t annotation =
        nvtx_innermost(nvtx, &found->places, launch->thread, NVTX_DOMAIN_OF_KIND(NVTX_ANNOTATION), launch->start);
    if (annotation == 0 || nvtx->ranges.items[annotation - 1].start < nvtx->ranges.items[within - 1].start)
        return true;
    static const char ending[] = " (dynamo_timed)";
    const size_t length = sizeof(ending) - 1;
    struct operator_text text = operator_name(process, annotation - 1);
    return text.length < length || memcmp(text.text + text.length - length, ending, length) != 0;
}

int compiled_scan(struct compiled_found *found, const struct process *process, const struct event *event,
                  const struct launch *launch)
{
    if (!process->operators->any || event->type != EVENT_KERNEL || event->kernel.graph != 0)
        return 0;
    uint32_t name = kernel_name_number(process, event);
    if (name == NAMES_NO_MEMORY || !is_inductors(names_get(&process->conversion->names, name)) ||
        !is_in_compiled_code(found, process, launch))
        return 0;
    struct compiled_launch compiled = {.correlation = event->correlation, .name = name};
    return ADD(array_push, &found->items, compiled) ? 0 : error_no_memory("operators");
}

int compiled_join(struct operators *operators, struct compiled_found *found)
{
    for (size_t i = 0; i < found->items.count; i++)
        if (!ADD(file_vector_push, &operators->compiled, found->items.items[i]))
            return error_no_memory("operators");
    found->items.count = 0;
    return 0;
}

ORDER_BY(by_correlation, struct compiled_launch, correlation, name)

int compiled_order(struct operators *operators)
{
    return file_vector_sort(&operators->compiled, by_correlation) == 0 ? 0 : error_no_memory("operators");
}

void write_compiled_operator(struct piece_writer *out, const struct process *process, const struct event *event,
                             struct row row)
{
    size_t number = compiled_find(process->operators, event->correlation);
    const struct launch *launch = number ? launches_get(process->launches, event->correlation) : NULL;
    struct args args = {0};
    if (!launch || !launch_is_call(launch, event))
        return;
    add_operator_around(out, &args, process, event->correlation, event->thread, event->start);
    if (row.tid != event->thread) /* the slice is in another lane of the thread */
        args_u64(&args, ARG_THREAD, event->thread);
    const struct name *name =
        names_get(&process->conversion->names, process->operators->compiled.items[number - 1].name);
    piece_writer_slice(out, CATEGORY_CPU_OP, *name, row, event->start, event->end, &args);
}

/*
 * Lines of GPU operations that PyTorch's threads launch for the backward pass. These threads run no Python, so their
 * call stacks have no line of the program. If operators were recorded, a flow leads to an operator of the backward pass
 * from the operator of the forward pass that made it (operators.h): its line is that of any launch in it whose call
 * stack has one.
 *
 * Without operators, the line that called the backward pass is taken: the thread of that line launches a kernel itself
 * (for the gradient of the loss), whose stack shows it. If several lines call it, no line is shown.
 *
 * For what a graph replays, the call that captured it counts instead: its line is found once for each node.
 */

#define OPERATORS NVTX_DOMAIN_OF_KIND(NVTX_OPERATOR)

/* Returns the link of the flow that begins at a range, or that ENDS there; NULL if there is none. */
static const struct operator_link *link_of(const struct operators *operators, uint32_t range, bool ends)
{
    const struct operator_link *links = operators->links.items;
    size_t count = operators->links.count, first = COUNT_BEFORE(count, i, links[i].range < range);
    for (size_t i = first; i < count && links[i].range == range; i++)
        if (links[i].ends == ends)
            return &links[i];
    return NULL;
}

/* Returns whose code the line of a stack is. All libraries other than Python's count as FRAME_LIBRARY, which has no
 * line. */
static enum frame_owner line_owner(const struct process *process, uint32_t number)
{
    const struct recorded_stack *stack = stacks_get(process->stacks, number);
    enum frame_owner owner = stack && stack->leaf != 0 ? (enum frame_owner)stack->owner : FRAME_LIBRARY;
    return owner < FRAME_PYTHON_LIBRARY ? FRAME_LIBRARY : owner;
}

/* --- operators of the forward pass --- */

static bool site_of_call(const struct process *process, uint32_t correlation, uint32_t stack, struct launch_site *site)
{
    const struct launch *launch = correlation ? launches_get(process->launches, correlation) : NULL;
    if (!launch || launch->from == LAUNCH_UNKNOWN)
        return false;
    *site = (struct launch_site){launch->thread, stack, launch->start};
    return true;
}

int forward_stacks_add(struct process *process, struct nvtx_places *places, const struct launch_site *site)
{
    struct operators *operators = process->operators;
    enum frame_owner owner = line_owner(process, site->stack);
    if (owner == FRAME_LIBRARY)
        return 0;
    uint32_t range = nvtx_innermost(process->nvtx, places, site->thread, OPERATORS, site->time);
    for (; range != 0; range = process->nvtx->ranges.items[range - 1].parent) {
        const struct forward_stack stack = {range - 1, site->stack, owner};
        if (link_of(operators, range - 1, false) && !ADD(file_vector_push, &operators->forward_stacks, stack))
            return error_no_memory("operators");
    }
    return 0;
}

/* Sorts the stack with the best line of each range first. */
static int by_range(const void *left, const void *right)
{
    const struct forward_stack *a = left, *b = right;
    return ORDER(a->range, b->range) ?: ORDER(b->owner, a->owner) ?: ORDER(a->stack, b->stack);
}

int forward_stacks_add_calls(struct process *process, struct nvtx_places *places)
{
    struct launch_site site;
    int result = 0;
    for (size_t i = 0; i < process->stacks->calls.count && result == 0; i++) {
        const struct call_stack *call = &process->stacks->calls.items[i];
        if (site_of_call(process, call->correlation, call->stack, &site))
            result = forward_stacks_add(process, places, &site);
    }
    return result;
}

int forward_stacks_sort(struct process *process)
{
    return file_vector_sort(&process->operators->forward_stacks, by_range) == 0 ? 0 : error_no_memory("operators");
}

/* --- the backward pass --- */

/* Returns the stack of the forward operator of RANGE (index + 1), or of a range around it; NULL if there is none. */
static const struct forward_stack *forward_stack(const struct process *process, uint32_t range)
{
    const struct operators *operators = process->operators;
    const struct forward_stack *items = operators->forward_stacks.items;
    const struct operator_link *link = NULL;
    for (; range != 0 && !link; range = process->nvtx->ranges.items[range - 1].parent)
        link = link_of(operators, range - 1, true);
    if (!link)
        return NULL;
    uint32_t forward = operators->forward.items[link->flow];
    size_t place = COUNT_BEFORE(operators->forward_stacks.count, i, items[i].range < forward);
    return place < operators->forward_stacks.count && items[place].range == forward ? &items[place] : NULL;
}

/* Returns the line of the forward operator, as index + 1 in conversion.stacks.places, if it is closer to the program
 * than the site's own; else 0. Compiled code runs Python in the backward pass, too, but no line of the program. RANGE
 * is the operator around the site (index + 1; 0: there is none). */
static uint32_t forward_line(const struct process *process, const struct launch_site *site, uint32_t range)
{
    const struct forward_stack *forward = range != 0 ? forward_stack(process, range) : NULL;
    bool counts = forward && forward->owner > (uint32_t)line_owner(process, site->stack);
    return counts ? stacks_get(process->stacks, forward->stack)->place + 1 : 0;
}

/* Returns the line that called the backward pass in which the site launched, as index + 1; 0 if it is unknown or the
 * site has a line of its own. Lines of files that torch.compile wrote, and of text that it compiled, do not count as
 * such. */
static uint32_t backward_line(const struct process *process, const struct launch_site *site)
{
    const struct backward_line *line = &process->stacks->backward;
    bool known = line->known && !line->differs && line_owner(process, site->stack) <= FRAME_PYTHON_NO_FILE &&
                 process_is_of_autograd(process, site->thread);
    return known ? line->place + 1 : 0;
}

uint32_t launch_line(const struct process *process, struct nvtx_places *places, const struct launch_site *site,
                     enum arg_key *kind)
{
    uint32_t line = 0;
    if (process->operators->any) {
        *kind = ARG_FORWARD_AT;
        line = forward_line(process, site, nvtx_innermost(process->nvtx, places, site->thread, OPERATORS, site->time));
    }
    if (line == 0) {
        *kind = ARG_BACKWARD_AT;
        line = backward_line(process, site);
    }
    return line;
}

/* --- GPU operations --- */

void add_forward_line(struct piece_writer *out, struct args *args, const struct process *process,
                      const struct event *event, uint32_t number)
{
    enum frame_owner owner = line_owner(process, number);
    struct launch_site site;
    if (!process->operators->any || owner == FRAME_SCRIPT || !site_of_call(process, event->correlation, number, &site))
        return;
    uint32_t range = nvtx_innermost(process->nvtx, &out->operators, site.thread, OPERATORS, site.time);
    uint32_t line = forward_line(process, &site, range);
    if (line != 0)
        args_line(args, process, ARG_FORWARD_AT, line - 1);
    if (line != 0 || range == 0 || number == 0 || owner != FRAME_LIBRARY)
        return;
    /* Without a line, the name of the operator. */
    size_t compiled = compiled_find(process->operators, event->correlation);
    if (compiled) {
        uint32_t name_number = process->operators->compiled.items[compiled - 1].name;
        const struct name *name = names_get(&process->conversion->names, name_number);
        args_text(args, ARG_IN_OPERATOR, name->text, name->length);
    } else {
        struct operator_text name = operator_name(process, range - 1);
        args_text(args, ARG_IN_OPERATOR, name.text, name.length);
    }
}

void add_backward_line(struct args *args, const struct process *process, const struct event *event, uint32_t number)
{
    struct launch_site site;
    if (process->operators->any || !site_of_call(process, event->correlation, number, &site))
        return;
    uint32_t line = backward_line(process, &site);
    if (line != 0)
        args_line(args, process, ARG_BACKWARD_AT, line - 1);
}
