/*
 * Instants of category "memory": what is still allocated at the end, what was freed wrongly, what failed. And the call
 * stacks that they refer to.
 */
#include "check_trace/trace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const struct json *args, const char *key)
{
    const struct json *value = json_member(args, key);
    return value ? value->text : "";
}

/* The allocations at an address of a process. Addresses are kept for ever; this is a tool for tests. */
static struct place *place_of(struct trace *trace, const struct json *event, const struct json *args)
{
    char key[128];
    const struct json *pid = json_member(event, "pid");
    snprintf(key, sizeof(key), "%s %s", pid ? pid->text : "", text_of(args, "address"));
    uint32_t number = names_put(&trace->addresses, key, strlen(key));
    size_t capacity = trace->places_capacity;
    trace->places = grow(trace->places, number, &trace->places_capacity, sizeof(*trace->places));
    if (capacity != trace->places_capacity)
        memset(trace->places + capacity, 0, (trace->places_capacity - capacity) * sizeof(*trace->places));
    return &trace->places[number];
}

static void see_allocation(struct trace *trace, const struct json *event, const struct json *args)
{
    const char *kind = text_of(args, "kind");
    if (json_member(args, "result")) {
        int64_t held;
        tally(trace, bytes_of(args), "failed-allocation %s", kind);
        if (!json_integer(json_member(args, "held"), &held) || held < 0)
            problem(trace, trace->events, "arguments", "a failed allocation without an integer \"held\"");
        return;
    }
    struct place *place = place_of(trace, event, args);
    place->kind = names_put(&trace->texts, kind, strlen(kind));
    place->live++;
    place->bytes += bytes_of(args);
}

static void see_release(struct trace *trace, const struct json *event, const struct json *args)
{
    const char *fault = text_of(args, "fault");
    if (*fault)
        tally(trace, 0, "%s", strcmp(fault, "double free") == 0 ? "double-free" : "unknown-free");
    if (*fault || json_member(args, "result"))
        return;
    struct place *place = place_of(trace, event, args);
    uint64_t bytes = bytes_of(args);
    place->live -= place->live > 0;
    place->bytes -= bytes < place->bytes ? bytes : place->bytes;
}

void trace_memory_event(struct trace *trace, const struct json *event)
{
    const struct json *args = json_member(event, "args"), *name = json_member(event, "name");
    trace_arguments(trace, event, CATEGORY_MEMORY);
    if (json_member(args, "stack"))
        tally(trace, 0, "allocations with a stack");
    if (name && strncmp(name->text, "Allocate ", 9) == 0)
        see_allocation(trace, event, args);
    else
        see_release(trace, event, args);
}

void trace_memory_end(struct trace *trace)
{
    for (uint32_t i = 0; i < trace->addresses.count; i++) {
        const struct place *place = &trace->places[i];
        for (uint64_t k = 0; k < place->live; k++)
            tally(trace, k == 0 ? place->bytes : 0, "leak %s", names_get(&trace->texts, place->kind));
    }
}

/* --- call stacks --- */

static void check_frame(struct trace *trace, const struct json *frame)
{
    const struct json *name = json_member(frame, "name"), *parent = json_member(frame, "parent");
    uint32_t known = trace->stacks.count;
    int64_t number = strtoll(frame->key, NULL, 10);
    if (parent && (!json_integer(parent, &number) || names_find(&trace->stacks, &number, sizeof(number)) == NAMES_NONE))
        problem(trace, 0, "stacks", "a frame below one that does not come before it");
    number = strtoll(frame->key, NULL, 10);
    if (number <= 0 || names_put(&trace->stacks, &number, sizeof(number)) != known)
        problem(trace, 0, "stacks", "a frame without a number of its own");
    if (!name || name->type != JSON_STRING || !*name->text)
        problem(trace, 0, "stacks", "a frame without a name");
}

void trace_stack_frames(struct trace *trace, const struct json *frames)
{
    for (const struct json *frame = frames->first; frame; frame = frame->next)
        check_frame(trace, frame);
}

void trace_stack(struct trace *trace, const struct json *event)
{
    const struct json *stack = json_member(json_member(event, "args"), "stack"), *frame = json_member(event, "sf");
    int64_t number, same = 0;
    if (!stack && !frame)
        return;
    if (!json_integer(stack, &number) || !json_integer(frame, &same) || same != number)
        problem(trace, trace->events, "stacks", "\"sf\" and the argument \"stack\" are not the same number");
    else if (names_find(&trace->stacks, &number, sizeof(number)) == NAMES_NONE)
        problem(trace, trace->events, "stacks", "its stack is not in the metadata");
}
