/*
 * Lines of GPU operations that PyTorch's threads launch for the backward pass. These threads run no Python, so their
 * call stacks have no line of the program. With operators, a flow leads to an operator of the backward pass from the
 * operator of the forward pass that made it (operators.h): its line is that of any launch in it whose call stack has
 * one. Where no launch in it has, none is known.
 *
 * Without operators there is the line that called the backward pass: the thread of that line launches a kernel in it
 * (the gradient of the loss), whose stack shows it. Where several lines call it, none is known.
 */
#include <string.h>

#include "common/log.h"
#include "trace/build/launches.h"
#include "trace/build/lookup.h"
#include "trace/build/nvtx.h"
#include "trace/build/operators.h"
#include "trace/build/piece_writer.h"
#include "trace/build/process.h"
#include "trace/build/stacks.h"

#define OPERATORS NVTX_DOMAIN_OF_KIND(NVTX_OPERATOR)

static int no_memory(void)
{
    return error_no_memory("operators");
}

/* The link of the range that begins a flow, or ENDS one; NULL: there is none. */
static const struct operator_link *link_of(const struct operators *operators, uint32_t range, bool ends)
{
    const struct operator_link *links = operators->links.items;
    size_t count = operators->links.count, first = COUNT_BEFORE(count, i, links[i].range < range);
    for (size_t i = first; i < count && links[i].range == range; i++)
        if (links[i].ends == ends)
            return &links[i];
    return NULL;
}

/* Whose line a stack has. Only one of Python or of the program itself counts. */
static enum frame_owner line_owner(const struct process *process, uint32_t number)
{
    const struct recorded_stack *stack = stacks_get(process->stacks, number);
    enum frame_owner owner = stack && stack->leaf != 0 ? (enum frame_owner)stack->owner : FRAME_LIBRARY;
    return owner < FRAME_PYTHON_LIBRARY ? FRAME_LIBRARY : owner;
}

/* --- operators of the forward pass --- */

static int gather_call(struct process *process, struct nvtx_places *places, const struct call_stack *call)
{
    struct operators *operators = process->operators;
    const struct launch *launch = launches_get(process->launches, call->correlation);
    if (!launch || launch->from == LAUNCH_UNKNOWN || line_owner(process, call->stack) == FRAME_LIBRARY)
        return 0;
    uint32_t range = nvtx_innermost(process->nvtx, places, launch->thread, OPERATORS, launch->start);
    for (; range != 0; range = process->nvtx->ranges.items[range - 1].parent) {
        const struct forward_stack stack = {range - 1, call->stack, line_owner(process, call->stack)};
        if (link_of(operators, range - 1, false) && !ADD(file_vector_push, &operators->forward_stacks, stack))
            return no_memory();
    }
    return 0;
}

/* The best line of each first. */
static int by_range(const void *left, const void *right)
{
    const struct forward_stack *a = left, *b = right;
    return ORDER(a->range, b->range) ?: ORDER(b->owner, a->owner) ?: ORDER(a->stack, b->stack);
}

int forward_stacks_gather(struct process *process)
{
    struct nvtx_places places = {0};
    int result = 0;
    for (size_t i = 0; i < process->stacks->calls.count && process->operators->flows > 0 && result == 0; i++)
        result = gather_call(process, &places, &process->stacks->calls.items[i]);
    if (result != 0)
        return result;
    return file_vector_sort(&process->operators->forward_stacks, by_range) == 0 ? 0 : no_memory();
}

/* --- GPU operations --- */

/* The stack of the forward operator of RANGE (index + 1), or of one around it; NULL: none is known. */
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

static void add_operator_name(struct args *args, const struct process *process, uint32_t correlation, uint32_t range)
{
    const struct operators *operators = process->operators;
    size_t compiled = compiled_find(operators, correlation);
    if (compiled) {
        const struct name *name = names_get(&process->conversion->names, operators->compiled.items[compiled - 1].name);
        args_text(args, ARG_IN_OPERATOR, name->text, name->length);
    } else {
        struct operator_text name = operator_name(process, range - 1);
        args_text(args, ARG_IN_OPERATOR, name.text, name.length);
    }
}

/* Compiled code runs Python for the backward pass, too, but no line of the program. */
void add_forward_line(struct piece_writer *out, struct args *args, const struct process *process,
                      const struct event *event, uint32_t number)
{
    const struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
    enum frame_owner owner = line_owner(process, number);
    if (!process->operators->any || owner == FRAME_SCRIPT || !launch || launch->from == LAUNCH_UNKNOWN)
        return;
    uint32_t range = nvtx_innermost(process->nvtx, &out->operators, launch->thread, OPERATORS, launch->start);
    const struct forward_stack *forward = range != 0 ? forward_stack(process, range) : NULL;
    if (forward && forward->owner > owner) {
        uint32_t place = stacks_get(process->stacks, forward->stack)->place;
        const char *text = interned(&process->conversion->stacks.places, place);
        args_text(args, ARG_FORWARD_AT, text, strlen(text));
    } else if (range != 0 && number != 0 && owner == FRAME_LIBRARY) {
        add_operator_name(args, process, event->correlation, range);
    }
}

/* Compiled code has lines in the backward pass, but of files that torch.compile wrote, and of text that it compiled. */
void add_backward_line(struct args *args, const struct process *process, const struct event *event, uint32_t number)
{
    const struct backward_line *line = &process->stacks->backward;
    bool has_line = line_owner(process, number) > FRAME_PYTHON_NO_FILE;
    if (!line->known || line->differs || process->operators->any || has_line)
        return;
    const struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
    if (!launch || launch->from == LAUNCH_UNKNOWN || !process_is_of_autograd(process, launch->thread))
        return;
    const char *text = interned(&process->conversion->stacks.places, line->place);
    args_text(args, ARG_BACKWARD_AT, text, strlen(text));
}
