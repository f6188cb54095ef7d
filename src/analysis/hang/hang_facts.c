/*
 * Remembers the last call, range and stack of each thread and the first unfinished operation of each stream. At the end
 * it picks, for each rank, the thread that communicated last.
 */
#include "analysis/hang/hang_facts.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/engine/trace.h"
#include "analysis/engine/trace_known.h"
#include "analysis/engine/trace_stacks.h"

void hang_facts_release(struct hang_facts *facts)
{
    dense_map_release(&facts->thread_ids);
    array_release(&facts->threads);
    dense_map_release(&facts->op_ids);
    array_release(&facts->ops);
}

/* --- events --- */

/* Returns the facts about the thread of EVENT, or NULL without memory. */
static struct hang_thread *thread_of(struct hang_facts *facts, const struct event_fields *event)
{
    const struct trace_thread_id id = {event->process, trace_thread_of(event)};
    if (facts->recent && facts->recent_process == id.process && facts->recent_thread == id.thread)
        return &facts->threads.items[facts->recent - 1];
    size_t before = facts->threads.count;
    struct hang_thread *thread = dense_map_item(&facts->thread_ids, &id, &facts->threads);
    if (!thread)
        return NULL;
    if (facts->threads.count > before)
        *thread = (struct hang_thread){.call = EVENT_NO_TEXT,
                                       .range = EVENT_NO_TEXT,
                                       .called = FIELD_ABSENT,
                                       .returned = FIELD_ABSENT,
                                       .range_start = FIELD_ABSENT,
                                       .init = EVENT_NO_TEXT,
                                       .init_start = FIELD_ABSENT,
                                       .stack = FIELD_ABSENT,
                                       .stack_time = FIELD_ABSENT,
                                       .communicated = FIELD_ABSENT};
    facts->recent_process = id.process;
    facts->recent_thread = id.thread;
    facts->recent = (size_t)(thread - facts->threads.items) + 1;
    return thread;
}

/* Reads a range or an operator. */
static void read_range(struct hang_thread *thread, const struct interner *strings, const struct event_fields *event)
{
    bool communicates = event_communicates(event);
    if (communicates && event->start > thread->communicated)
        thread->communicated = event->start;
    if (event_range(event)->open_at_end != 1 || communicates || event->start < thread->range_start)
        return;
    /* These NCCL calls return only after all ranks have called them. */
    const char *name = event->name == EVENT_NO_TEXT ? "" : interned(strings, event->name);
    if (strncmp(name, "ncclCommInit", strlen("ncclCommInit")) == 0 ||
        strncmp(name, "ncclCommSplit", strlen("ncclCommSplit")) == 0) {
        thread->init = event->name;
        thread->init_start = event->start;
    }
    thread->range = event->name;
    thread->range_start = event->start;
}

int hang_facts_event(struct hang_facts *facts, const struct interner *strings, const struct event_fields *event)
{
    if (event->category == CATEGORY_GPU_IN_FLIGHT && event_communicates(event))
        return 0;
    if (event->category == CATEGORY_GPU_IN_FLIGHT) {
        const struct trace_stream_id id = {event->process, trace_event_device(event), event_gpu(event)->context,
                                           event_gpu(event)->stream};
        size_t before = facts->ops.count;
        struct hang_gpu_op *op = dense_map_item(&facts->op_ids, &id, &facts->ops);
        if (op && (facts->ops.count > before || event->start < op->launched))
            *op = (struct hang_gpu_op){event->name, event->start};
        return op ? 0 : -1;
    }
    bool slice = event->phase == 'X',
         range = category_in(event->category, CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_CPU_OP));
    if (range && (!slice || (event_range(event)->open_at_end != 1 && !event_communicates(event))))
        return 0;
    struct hang_thread *thread = thread_of(facts, event);
    if (!thread)
        return -1;
    if (category_in(event->category, CATEGORIES_API) && slice && event->start > thread->called) {
        thread->call = event->name;
        thread->called = event->start;
        thread->returned = event->start + event->duration;
    } else if (range)
        read_range(thread, strings, event);
    if (event->stack != FIELD_ABSENT && event->start >= thread->stack_time) {
        thread->stack = event->stack;
        thread->stack_time = event->start;
    }
    return 0;
}

/* --- members --- */

int hang_facts_add_ranks(const struct trace *trace, struct hang_fronts *fronts)
{
    for (size_t i = 0; i < trace->ranks.count; i++)
        if (trace->ranks.items[i].process != EVENT_NO_ID &&
            !hang_fronts_member(fronts, trace->ranks.items[i].rank, trace->ranks.items[i].process))
            return -1;
    return 0;
}

/* Facts about a process. Indices are stored + 1; 0 means none. */
struct process_facts {
    int64_t last;    /* when one of its threads was last seen to do something; FIELD_ABSENT: never */
    uint32_t thread; /* the thread that communicated last, else the one that called last */
    uint32_t init;   /* its first thread that is creating a communicator */
    uint32_t op;     /* the operation in flight that was launched first */
    uint32_t crash;  /* index in trace.crashes; 0: it exited, or how it ended is unknown */
    uint32_t open;   /* index in trace.open_calls of the call that `thread` was in */
};

struct publisher {
    const struct hang_facts *facts;
    const struct trace *trace;
    struct hang_fronts *fronts;
    struct dense_map process_ids; /* event_id */
    ARRAY(struct process_facts) processes;
    /* The member that is being published. */
    struct hang_member *member;
    const struct process_facts *known;
};

/* Returns the facts about PROCESS, which are created at the first call. Returns NULL without memory. */
static struct process_facts *facts_of(struct publisher *publisher, event_id process)
{
    size_t before = publisher->processes.count;
    struct process_facts *facts = dense_map_item(&publisher->process_ids, &process, &publisher->processes);
    if (facts && publisher->processes.count > before)
        facts->last = FIELD_ABSENT;
    return facts;
}

/* Fills the facts about each process from its threads, operations in flight, crashes and open calls. */
static int gather(struct publisher *publisher)
{
    const struct trace *trace = publisher->trace;
    for (size_t i = 0; i < publisher->facts->threads.count; i++) {
        const struct trace_thread_id *id = dense_map_row(&publisher->facts->thread_ids, i);
        const struct hang_thread *threads = publisher->facts->threads.items, *thread = &threads[i];
        struct process_facts *facts = facts_of(publisher, id->process);
        if (!facts)
            return -1;
        facts->last = thread->returned > facts->last ? thread->returned : facts->last;
        facts->last = thread->communicated > facts->last ? thread->communicated : facts->last;
        facts->last = thread->stack_time > facts->last ? thread->stack_time : facts->last;
        const struct hang_thread *best = facts->thread ? &threads[facts->thread - 1] : NULL;
        if (!best || thread->communicated > best->communicated ||
            (thread->communicated == best->communicated && thread->called > best->called))
            facts->thread = (uint32_t)i + 1;
        if (!facts->init && thread->init != EVENT_NO_TEXT)
            facts->init = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < publisher->facts->ops.count; i++) {
        const struct trace_stream_id *id = dense_map_row(&publisher->facts->op_ids, i);
        const struct hang_gpu_op *ops = publisher->facts->ops.items;
        const struct trace_gpu_row *row = trace_gpu_row(trace, id->process);
        struct process_facts *facts = facts_of(publisher, row ? row->process : id->process);
        if (!facts)
            return -1;
        if (!facts->op || ops[i].launched < ops[facts->op - 1].launched)
            facts->op = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < trace->crashes.count; i++) {
        struct process_facts *facts = facts_of(publisher, event_id_number(trace->crashes.items[i].pid));
        if (!facts)
            return -1;
        facts->crash = facts->crash ? facts->crash : (uint32_t)i + 1;
    }
    for (size_t i = 0; i < trace->open_calls.count; i++) {
        const struct trace_open_call *call = &trace->open_calls.items[i];
        struct process_facts *facts = facts_of(publisher, event_id_number(call->pid));
        if (!facts)
            return -1;
        const struct trace_thread_id *id =
            facts->thread ? dense_map_row(&publisher->facts->thread_ids, facts->thread - 1) : NULL;
        if (!facts->open && id && event_id_number(call->thread) == id->thread && call->time != FIELD_ABSENT &&
            call->function != EVENT_NO_TEXT)
            facts->open = (uint32_t)i + 1;
    }
    return 0;
}

static int publish_ending(const struct publisher *publisher)
{
    struct hang_member *member = publisher->member;
    const struct trace *trace = publisher->trace;
    const struct trace_rank *rank = trace_rank_of(trace, member->process);
    uint32_t index = publisher->known->crash;
    const struct trace_crash *crash = index ? &trace->crashes.items[index - 1] : NULL;
    member->last = publisher->known->last;
    if (!crash) { /* a process that the trace lists has exited; otherwise only the end of the trace is known */
        member->ending = rank && rank->process != EVENT_NO_ID ? HANG_FINISHED : HANG_LIVES;
        member->last = member->ending == HANG_LIVES ? trace->end : member->last;
        return 0;
    }
    bool lives = strcmp(trace_text(trace, crash->state), "still runs") == 0;
    bool fault = crash->signal == SIGSEGV || crash->signal == SIGBUS || crash->signal == SIGFPE ||
                 crash->signal == SIGILL || crash->signal == SIGABRT || crash->signal == SIGTRAP ||
                 crash->signal == SIGSYS;
    member->ending = lives ? HANG_LIVES : fault ? HANG_CRASHED : HANG_KILLED;
    member->last = crash->alive > member->last ? crash->alive : member->last;
    member->last = crash->time != FIELD_ABSENT ? crash->time : member->last;
    if (member->ending != HANG_CRASHED)
        return 0;
    char text[128];
    snprintf(text, sizeof(text), "signal %" PRId64 " (%s)", crash->signal, trace_text(trace, crash->words));
    member->how = hang_fronts_text(publisher->fronts, text);
    return member->how == EVENT_NO_TEXT ? -1 : 0;
}

/* --- the GPU of a member --- */

static int publish_gpu(const struct publisher *publisher)
{
    struct hang_member *member = publisher->member;
    uint32_t index = publisher->known->op;
    const struct hang_gpu_op *first = index ? &publisher->facts->ops.items[index - 1] : NULL;
    if (!first || first->name == EVENT_NO_TEXT)
        return 0;
    const struct trace_stream_id *where = dense_map_row(&publisher->facts->op_ids, index - 1);
    /* The end of the last operation of the stream. */
    uint32_t stream = dense_map_lookup(&publisher->trace->stream_ids, where, sizeof(*where));
    int64_t before = stream == DENSE_MAP_NONE ? FIELD_ABSENT : publisher->trace->streams.items[stream].last;
    int64_t since = before > first->launched ? before : first->launched;
    if (event_time_between(since, member->last) < HANG_LEAST_NS)
        return 0;
    const char *name = trace_text(publisher->trace, trace_shown(publisher->trace, first->name));
    bool kernel = strncmp(name, "Mem", strlen("Mem")) != 0;
    char words[TRACE_STREAM_WORDS];
    struct buffer text;
    buffer_init_memory(&text);
    trace_stream_words(words, where->device, where->stream);
    buffer_format(&text, "%s%s has been running%s%s", kernel ? "kernel " : "", name, *words ? " on " : "", words);
    buffer_char(&text, '\0');
    member->gpu = text.failure ? EVENT_NO_TEXT : hang_fronts_text(publisher->fronts, text.data);
    member->gpu_since = since;
    member->gpu_called = first->launched;
    buffer_release(&text);
    return member->gpu == EVENT_NO_TEXT ? -1 : 0;
}

/* --- the thread of a member --- */

static uint32_t copy_text(const struct publisher *publisher, uint32_t text)
{
    return text == EVENT_NO_TEXT ? EVENT_NO_TEXT
                                 : hang_fronts_text(publisher->fronts, trace_text(publisher->trace, text));
}

#define LINES 3

static void publish_host(const struct publisher *publisher)
{
    struct hang_member *member = publisher->member;
    const struct process_facts *known = publisher->known;
    const struct trace *trace = publisher->trace;
    const struct hang_thread *threads = publisher->facts->threads.items;
    if (known->init) {
        member->init = copy_text(publisher, threads[known->init - 1].init);
        member->init_since = threads[known->init - 1].init_start;
    }
    if (!known->thread)
        return;
    const struct trace_thread_id *id = dense_map_row(&publisher->facts->thread_ids, known->thread - 1);
    const struct hang_thread *thread = &threads[known->thread - 1];
    const struct trace_open_call *open = known->open ? &trace->open_calls.items[known->open - 1] : NULL;
    member->in_call = open != NULL;
    int64_t index = trace_find_thread(trace, id->process, event_id_value(id->thread));
    uint32_t name = index == FIELD_ABSENT ? EVENT_NO_TEXT : trace->threads.items[index].name;
    char text[LINES * 160];
    snprintf(text, sizeof(text), "thread %" PRId64, event_id_value(id->thread));
    member->thread = *trace_text(trace, name) ? copy_text(publisher, name) : hang_fronts_text(publisher->fronts, text);
    member->host = copy_text(publisher, open ? open->function : thread->call);
    member->host_since = open ? open->time : thread->called;
    member->range = copy_text(publisher, thread->range);
    /* The innermost frames of the stack, "wait (ddp.py:19) < main (ddp.py:12)": the program's own if there are any. */
    const struct trace_frame *frames[TRACE_STACK_FRAMES], *place = trace_stack_place(trace, thread->stack);
    size_t count = trace_stack(trace, thread->stack, frames, TRACE_STACK_FRAMES), length = 0, lines = 0;
    for (size_t i = 0; i < count && lines < LINES; i++)
        if (frames[i]->owner == place->owner)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%.150s", lines++ ? " < " : "",
                                       trace_text(trace, frames[i]->place));
    member->place = lines ? hang_fronts_text(publisher->fronts, text) : EVENT_NO_TEXT;
}

int hang_facts_publish(const struct hang_facts *facts, const struct trace *trace, struct hang_fronts *fronts)
{
    struct publisher publisher = {.facts = facts, .trace = trace, .fronts = fronts};
    int status = gather(&publisher);
    for (size_t i = 0; status == 0 && i < fronts->members.count; i++) {
        publisher.member = &fronts->members.items[i];
        publisher.known = facts_of(&publisher, publisher.member->process);
        if (!publisher.known || publish_ending(&publisher) < 0 || publish_gpu(&publisher) < 0)
            status = -1;
        else
            publish_host(&publisher);
    }
    dense_map_release(&publisher.process_ids);
    array_release(&publisher.processes);
    return status;
}
