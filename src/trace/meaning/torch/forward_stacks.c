/*
 * Lines of GPU operations that PyTorch's threads launch for the backward pass. These threads run no Python, so their
 * call stacks have no line of the program. With operators, a flow leads to an operator of the backward pass from the
 * operator of the forward pass that made it (operators.h): its line is that of any launch in it whose call stack has
 * one. Where no launch in it has, none is known.
 *
 * Without operators there is the line that called the backward pass: the thread of that line launches a kernel in it
 * (the gradient of the loss), whose stack shows it. Where several lines call it, none is known.
 *
 * Of what a graph replays, the call that captured it counts in the same way: its line is found once for each node.
 */
#include "trace/meaning/torch/forward_stacks.h"

#include <string.h>

#include "common/log.h"
#include "common/lookup.h"
#include "trace/meaning/base/piece_writer.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/base/stack_tree.h"
#include "trace/meaning/base/stacks.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/nvtx/nvtx.h"
#include "trace/meaning/torch/compiled_launches.h"

#define OPERATORS NVTX_DOMAIN_OF_KIND(NVTX_OPERATOR)

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

/* The best line of each first. */
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

/* The line of the forward operator, if it counts more than that of the site itself: index + 1 in
 * conversion.stacks.places; 0: there is none. Compiled code runs Python for the backward pass, too, but no line of the
 * program. RANGE is the operator around the site (index + 1; 0: there is none). */
static uint32_t forward_line(const struct process *process, const struct launch_site *site, uint32_t range)
{
    const struct forward_stack *forward = range != 0 ? forward_stack(process, range) : NULL;
    bool counts = forward && forward->owner > (uint32_t)line_owner(process, site->stack);
    return counts ? stacks_get(process->stacks, forward->stack)->place + 1 : 0;
}

/* The line that called the backward pass in which this was launched: index + 1; 0: it is not known, or the site has a
 * line. Compiled code has lines there, but of files that torch.compile wrote, and of text that it compiled. */
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
    else if (range != 0 && number != 0 && owner == FRAME_LIBRARY)
        add_operator_name(args, process, event->correlation, range);
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
