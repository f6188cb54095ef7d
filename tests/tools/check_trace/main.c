/*
 * check_trace: whether a trace keeps every rule that its readers rely on, and holds what the program did.
 *
 * Written apart from gputrace, from the description of the format alone, so that a mistake in the one is seen by the
 * other. Reads the events one by one; keeps some 40 bytes for each slice.
 */
#include "check_trace/trace.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS_SHOWN = 10 }; /* of each rule */

void problem(struct trace *trace, uint32_t number, const char *rule, const char *format, ...)
{
    uint32_t index = names_put(&trace->rules, rule, strlen(rule));
    size_t capacity = trace->broken_capacity;
    trace->broken = grow(trace->broken, index, &trace->broken_capacity, sizeof(*trace->broken));
    if (capacity != trace->broken_capacity)
        memset(trace->broken + capacity, 0, (trace->broken_capacity - capacity) * sizeof(*trace->broken));
    trace->problems++;
    if (++trace->broken[index].events > PROBLEMS_SHOWN)
        return;
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: %s: ", trace->path, rule);
    if (number == trace->events && number != 0)
        fprintf(stderr, "event %" PRIu32 " (line %" PRIu64 "): ", number, trace->line);
    else if (number != 0)
        fprintf(stderr, "event %" PRIu32 ": ", number);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
}

static void read_events(struct trace *trace, struct json_reader *reader)
{
    json_expect(reader, '[', "to begin \"traceEvents\"");
    if (json_accept(reader, ']'))
        return;
    do {
        const struct json *event = json_read(reader);
        trace->line = reader->input->line;
        trace_event(trace, event);
        json_forget(reader);
    } while (json_accept(reader, ','));
    json_expect(reader, ']', "in \"traceEvents\"");
}

/* The outermost object, whose largest member is not kept. */
static void read_members(struct trace *trace, struct json_reader *reader, struct names *seen)
{
    do {
        const char *key = json_read_key(reader);
        uint32_t known = seen->count;
        if (names_put(seen, key, strlen(key)) != known)
            json_fail(reader, "the key \"%s\" is twice in one object", key);
        if (names_find(seen, "traceEvents", 11) == known) {
            json_forget(reader);
            read_events(trace, reader);
            continue;
        }
        if (names_find(seen, "traceEvents", 11) != NAMES_NONE && !trace->kineto)
            problem(trace, 0, "metadata", "the key \"%s\" comes after \"traceEvents\"", key);
        struct json *member = json_read(reader);
        member->key = key;
        member->key_length = strlen(key);
        trace_metadata(trace, member);
        json_forget(reader);
    } while (json_accept(reader, ','));
}

void trace_read(struct trace *trace, struct json_reader *reader)
{
    struct names seen = {0};
    json_expect(reader, '{', "to begin the trace");
    if (!json_accept(reader, '}')) {
        read_members(trace, reader, &seen);
        json_expect(reader, '}', "to end the trace");
    }
    json_white(reader);
    if (input_peek(reader->input) != INPUT_END)
        json_fail(reader, "something follows the end of the trace");
    trace_metadata_end(trace, &seen);
    names_release(&seen);
    trace_rows(trace);
    tally_end(trace);
}

void trace_release(struct trace *trace)
{
    struct names *const all[] = {&trace->texts,     &trace->rows,         &trace->named_pids,   &trace->named_rows,
                                 &trace->titles,    &trace->used_streams, &trace->used_devices, &trace->used_pids,
                                 &trace->api_rows,  &trace->row_streams,  &trace->keys,         &trace->rules,
                                 &trace->addresses, &trace->stacks,       &trace->stated};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        names_release(all[i]);
    free(trace->counts);
    free(trace->places);
    free(trace->broken);
    free(trace->slices);
    free(trace->flows);
    free(trace->ranges);
    free(trace->samples);
}

static int usage(FILE *out)
{
    fprintf(out,
            "usage: check_trace [--kineto] [--strict] [--expect FILE] [--quiet] TRACE.json[.gz]\n"
            "\n"
            "  --kineto       a trace of Kineto's: only what its traces keep\n"
            "  --strict       nothing may be lost, and a flow must lead to all work of the GPU\n"
            "  --expect FILE  compare with the lines of FILE that begin with \"expect\"\n"
            "  --quiet        do not print the counts\n"
            "\n"
            "A line is: expect WHAT COUNT [bytes BYTES]. COUNT is N, N.. or N..M. WHAT is one of the counts that are\n"
            "printed, among them:\n"
            "  kernel NAME, kernels, memcpy DIRECTION, memcpys, memset, graphs, flows\n"
            "  api NAME, failure NAME, sync \"NAME\"\n"
            "  query NAME                as api NAME with --trace=api-all, else none may be there\n"
            "  nvtx push|start|mark|gpu \"MESSAGE\", pushes, starts, marks\n"
            "  open \"MESSAGE\"           ranges that did not end, also among those above\n"
            "  resource TYPE \"NAME\", destroyed TYPE \"NAME\", cuda-event \"NAME\", wait-on \"NAME\"\n"
            "  loss NAME                 losses that --strict then allows\n"
            "  device-range \"MESSAGE\"   ranges that the program put into streams; device-ranges\n"
            "  compilation \"NAME\"       slices of the row \"compilation\": \"PTX compilation\", \"JIT compile\"\n"
            "  plugin slice \"NAME\"      slices that plugins added\n"
            "  plugin instant \"NAME\"    instants that they added\n"
            "  row \"NAME\", streams, devices, threads, processes\n"
            "  leak KIND, double-free, unknown-free, failed-allocation KIND\n"
            "  memory KIND allocations N bytes BYTES releases N peak BYTES end BYTES\n"
            "\n"
            "Exit status: 0 all is well, 1 a rule is broken, 2 wrong usage.\n");
    return 2;
}

static int check(struct trace *trace, const char *statement, bool quiet)
{
    static struct input input;
    struct json_reader reader;
    if (input_open(&input, trace->path) != 0)
        return 1;
    json_reader_init(&reader, &input, trace->kineto);
    trace_read(trace, &reader);
    json_reader_release(&reader);
    input_close(&input);
    if (statement && trace_statement(trace, statement) != 0)
        return 1;
    trace_losses(trace);
    if (!quiet)
        tally_print(trace);
    for (uint32_t i = 0; i < trace->rules.count; i++)
        fprintf(stderr, "%s: %" PRIu64 " broken: %s\n", trace->path, trace->broken[i].events,
                names_get(&trace->rules, i));
    printf("%s: %" PRIu32 " events, %" PRIu64 " problems\n", trace->path, trace->events, trace->problems);
    return trace->problems ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct trace trace = {0};
    const char *statement = NULL;
    bool quiet = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--kineto") == 0)
            trace.kineto = true;
        else if (strcmp(argv[i], "--strict") == 0)
            trace.strict = true;
        else if (strcmp(argv[i], "--quiet") == 0)
            quiet = true;
        else if (strcmp(argv[i], "--expect") == 0 && i + 1 < argc)
            statement = argv[++i];
        else if (strcmp(argv[i], "--help") == 0)
            return usage(stdout), 0;
        else if (argv[i][0] == '-' || trace.path)
            return usage(stderr);
        else
            trace.path = argv[i];
    }
    if (!trace.path)
        return usage(stderr);
    int status = check(&trace, statement, quiet);
    trace_release(&trace);
    return status;
}
