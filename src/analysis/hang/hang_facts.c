#include "analysis/hang/hang_facts.h"

#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/buffer.h"
#include "analysis/engine/trace.h"

void hang_facts_release(struct hang_facts *facts)
{
    dense_map_release(&facts->thread_ids);
    array_release(&facts->threads);
    dense_map_release(&facts->op_ids);
    array_release(&facts->ops);
}

/* --- events --- */

/* NULL: no memory. */
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

/* NCCL's ranges of calls that return when all ranks have called. */
static bool is_init(const char *name)
{
    return strncmp(name, "ncclCommInit", strlen("ncclCommInit")) == 0 ||
           strncmp(name, "ncclCommSplit", strlen("ncclCommSplit")) == 0;
}

/* A range or an operator. */
static void take_range(struct hang_thread *thread, const struct interner *strings, const struct event_fields *event)
{
    bool communicates = event->collective != EVENT_NO_TEXT;
    if (communicates && event->start > thread->communicated)
        thread->communicated = event->start;
    if (event->open_at_end != 1 || communicates || event->start < thread->range_start)
        return;
    if (event->name != EVENT_NO_TEXT && is_init(interned(strings, event->name))) {
        thread->init = event->name;
        thread->init_start = event->start;
    }
    thread->range = event->name;
    thread->range_start = event->start;
}

static int take_op(struct hang_facts *facts, const struct event_fields *event)
{
    const struct trace_stream_id id = {event->process, trace_event_device(event), event->context, event->stream};
    size_t before = facts->ops.count;
    if (event->collective != EVENT_NO_TEXT)
        return 0;
    struct hang_gpu_op *op = dense_map_item(&facts->op_ids, &id, &facts->ops);
    if (op && (facts->ops.count > before || event->start < op->launched))
        *op = (struct hang_gpu_op){event->name, event->start};
    return op ? 0 : -1;
}

int hang_facts_event(struct hang_facts *facts, const struct interner *strings, const struct event_fields *event)
{
    if (event->category == CATEGORY_GPU_IN_FLIGHT)
        return take_op(facts, event);
    bool slice = event->phase == 'X',
         range = category_in(event->category, CATEGORY_BIT(CATEGORY_USER_ANNOTATION) | CATEGORY_BIT(CATEGORY_CPU_OP));
    if (range && (!slice || (event->open_at_end != 1 && event->collective == EVENT_NO_TEXT)))
        return 0;
    struct hang_thread *thread = thread_of(facts, event);
    if (!thread)
        return -1;
    if (category_in(event->category, CATEGORIES_API) && slice && event->start > thread->called) {
        thread->call = event->name;
        thread->called = event->start;
        thread->returned = event->start + event->duration;
    } else if (range)
        take_range(thread, strings, event);
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

/* What is known of a process, as indices + 1; 0: nothing. */
struct process_facts {
    int64_t last;    /* the end of the last thing that a thread of it is known to have done; FIELD_ABSENT: none */
    uint32_t thread; /* that which communicated last, else the one that called last */
    uint32_t init;   /* the first of its threads that is making a communicator */
    uint32_t op;     /* of the operations in flight the one that was launched first */
    uint32_t crash;  /* 0: it exited, or it is not known how it ended */
    uint32_t open;   /* the call that THREAD was in */
};

struct telling {
    const struct hang_facts *facts;
    const struct trace *trace;
    struct hang_fronts *fronts;
    struct dense_map process_ids; /* event_id */
    ARRAY(struct process_facts) processes;
    /* About one member. */
    struct hang_member *member;
    const struct process_facts *known;
};

/* NULL: no memory. */
static struct process_facts *facts_of(struct telling *telling, event_id process)
{
    size_t before = telling->processes.count;
    struct process_facts *facts = dense_map_item(&telling->process_ids, &process, &telling->processes);
    if (facts && telling->processes.count > before)
        facts->last = FIELD_ABSENT;
    return facts;
}

static bool is_later(const struct hang_thread *thread, const struct hang_thread *best)
{
    return thread->communicated != best->communicated ? thread->communicated > best->communicated
                                                      : thread->called > best->called;
}

static int gather_threads(struct telling *telling)
{
    for (size_t i = 0; i < telling->facts->threads.count; i++) {
        const struct trace_thread_id *id = dense_map_row(&telling->facts->thread_ids, i);
        const struct hang_thread *threads = telling->facts->threads.items, *thread = &threads[i];
        struct process_facts *facts = facts_of(telling, id->process);
        if (!facts)
            return -1;
        facts->last = thread->returned > facts->last ? thread->returned : facts->last;
        facts->last = thread->communicated > facts->last ? thread->communicated : facts->last;
        facts->last = thread->stack_time > facts->last ? thread->stack_time : facts->last;
        if (!facts->thread || is_later(thread, &threads[facts->thread - 1]))
            facts->thread = (uint32_t)i + 1;
        if (!facts->init && thread->init != EVENT_NO_TEXT)
            facts->init = (uint32_t)i + 1;
    }
    return 0;
}

static int gather_ops(struct telling *telling)
{
    for (size_t i = 0; i < telling->facts->ops.count; i++) {
        const struct trace_stream_id *id = dense_map_row(&telling->facts->op_ids, i);
        const struct hang_gpu_op *ops = telling->facts->ops.items;
        const struct trace_gpu_row *row = trace_gpu_row(telling->trace, id->process);
        struct process_facts *facts = facts_of(telling, row ? row->process : id->process);
        if (!facts)
            return -1;
        if (!facts->op || ops[i].launched < ops[facts->op - 1].launched)
            facts->op = (uint32_t)i + 1;
    }
    return 0;
}

static int gather_ends(struct telling *telling)
{
    const struct trace *trace = telling->trace;
    for (size_t i = 0; i < trace->crashes.count; i++) {
        struct process_facts *facts = facts_of(telling, event_id_number(trace->crashes.items[i].pid));
        if (!facts)
            return -1;
        facts->crash = facts->crash ? facts->crash : (uint32_t)i + 1;
    }
    for (size_t i = 0; i < trace->open_calls.count; i++) {
        const struct trace_open_call *call = &trace->open_calls.items[i];
        struct process_facts *facts = facts_of(telling, event_id_number(call->pid));
        if (!facts)
            return -1;
        const struct trace_thread_id *id =
            facts->thread ? dense_map_row(&telling->facts->thread_ids, facts->thread - 1) : NULL;
        if (!facts->open && id && event_id_number(call->thread) == id->thread && call->time != FIELD_ABSENT &&
            call->function != EVENT_NO_TEXT)
            facts->open = (uint32_t)i + 1;
    }
    return 0;
}

static bool is_fault(int64_t signal)
{
    return signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE || signal == SIGILL || signal == SIGABRT ||
           signal == SIGTRAP || signal == SIGSYS;
}

static int tell_ending(const struct telling *telling)
{
    struct hang_member *member = telling->member;
    const struct trace *trace = telling->trace;
    const struct trace_rank *rank = trace_rank_of(trace, member->process);
    uint32_t index = telling->known->crash;
    const struct trace_crash *crash = index ? &trace->crashes.items[index - 1] : NULL;
    member->last = telling->known->last;
    if (!crash) { /* the trace lists its processes, or the end of the trace is all that is known */
        member->ending = rank && rank->process != EVENT_NO_ID ? HANG_FINISHED : HANG_LIVES;
        member->last = member->ending == HANG_LIVES ? trace->end : member->last;
        return 0;
    }
    bool lives = strcmp(trace_text(trace, crash->state), "still runs") == 0;
    member->ending = lives ? HANG_LIVES : is_fault(crash->signal) ? HANG_CRASHED : HANG_KILLED;
    member->last = crash->alive > member->last ? crash->alive : member->last;
    member->last = crash->time != FIELD_ABSENT ? crash->time : member->last;
    if (member->ending != HANG_CRASHED)
        return 0;
    char text[128];
    snprintf(text, sizeof(text), "signal %" PRId64 " (%s)", crash->signal, trace_text(trace, crash->words));
    member->how = hang_fronts_text(telling->fronts, text);
    return member->how == EVENT_NO_TEXT ? -1 : 0;
}

/* --- its GPU --- */

static int tell_gpu(const struct telling *telling)
{
    struct hang_member *member = telling->member;
    uint32_t index = telling->known->op;
    const struct hang_gpu_op *first = index ? &telling->facts->ops.items[index - 1] : NULL;
    if (!first || first->name == EVENT_NO_TEXT)
        return 0;
    const struct trace_stream_id *where = dense_map_row(&telling->facts->op_ids, index - 1);
    /* The end of the last operation of the stream. */
    uint32_t stream = dense_map_lookup(&telling->trace->stream_ids, where, sizeof(*where));
    int64_t before = stream == DENSE_MAP_NONE ? FIELD_ABSENT : telling->trace->streams.items[stream].last;
    int64_t since = before > first->launched ? before : first->launched;
    if (event_time_between(since, member->last) < HANG_LEAST_NS)
        return 0;
    const char *name = trace_text(telling->trace, trace_shown(telling->trace, first->name));
    bool kernel = strncmp(name, "Mem", strlen("Mem")) != 0;
    char words[TRACE_STREAM_WORDS];
    struct buffer text;
    buffer_init_memory(&text);
    trace_stream_words(words, where->device, where->stream);
    buffer_format(&text, "%s%s has been running%s%s", kernel ? "kernel " : "", name, *words ? " on " : "", words);
    buffer_char(&text, '\0');
    member->gpu = text.failure ? EVENT_NO_TEXT : hang_fronts_text(telling->fronts, text.data);
    member->gpu_since = since;
    member->gpu_called = first->launched;
    buffer_release(&text);
    return member->gpu == EVENT_NO_TEXT ? -1 : 0;
}

/* --- its thread --- */

static uint32_t copy_text(const struct telling *telling, uint32_t text)
{
    return text == EVENT_NO_TEXT ? EVENT_NO_TEXT : hang_fronts_text(telling->fronts, trace_text(telling->trace, text));
}

static uint32_t thread_text(const struct telling *telling, const struct trace_thread_id *id)
{
    int64_t index = trace_find_thread(telling->trace, id->process, event_id_value(id->thread));
    uint32_t name = index == FIELD_ABSENT ? EVENT_NO_TEXT : telling->trace->threads.items[index].name;
    char text[64];
    if (name != EVENT_NO_TEXT && *trace_text(telling->trace, name))
        return copy_text(telling, name);
    snprintf(text, sizeof(text), "thread %" PRId64, event_id_value(id->thread));
    return hang_fronts_text(telling->fronts, text);
}

#define LINES 3

/* Where the thread was, and who called that: "wait (ddp.py:19) < main (ddp.py:12)", lines of the program if any is. */
static uint32_t lines_text(const struct telling *telling, int64_t stack)
{
    const struct trace_frame *frames[TRACE_STACK_FRAMES], *place = trace_stack_place(telling->trace, stack);
    size_t count = trace_stack(telling->trace, stack, frames, TRACE_STACK_FRAMES), length = 0, lines = 0;
    char text[LINES * 160];
    for (size_t i = 0; i < count && lines < LINES; i++)
        if (frames[i]->owner == place->owner)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%.150s", lines++ ? " < " : "",
                                       trace_text(telling->trace, frames[i]->place));
    return lines ? hang_fronts_text(telling->fronts, text) : EVENT_NO_TEXT;
}

static void tell_host(const struct telling *telling)
{
    struct hang_member *member = telling->member;
    const struct process_facts *known = telling->known;
    const struct hang_thread *threads = telling->facts->threads.items;
    if (known->init) {
        member->init = copy_text(telling, threads[known->init - 1].init);
        member->init_since = threads[known->init - 1].init_start;
    }
    if (!known->thread)
        return;
    const struct trace_thread_id *id = dense_map_row(&telling->facts->thread_ids, known->thread - 1);
    const struct hang_thread *thread = &threads[known->thread - 1];
    const struct trace_open_call *open = known->open ? &telling->trace->open_calls.items[known->open - 1] : NULL;
    member->in_call = open != NULL;
    member->thread = thread_text(telling, id);
    member->host = copy_text(telling, open ? open->function : thread->call);
    member->host_since = open ? open->time : thread->called;
    member->range = copy_text(telling, thread->range);
    member->place = lines_text(telling, thread->stack);
}

int hang_facts_tell(const struct hang_facts *facts, const struct trace *trace, struct hang_fronts *fronts)
{
    struct telling telling = {.facts = facts, .trace = trace, .fronts = fronts};
    int status = gather_threads(&telling) < 0 || gather_ops(&telling) < 0 || gather_ends(&telling) < 0 ? -1 : 0;
    for (size_t i = 0; status == 0 && i < fronts->members.count; i++) {
        telling.member = &fronts->members.items[i];
        telling.known = facts_of(&telling, telling.member->process);
        if (!telling.known || tell_ending(&telling) < 0 || tell_gpu(&telling) < 0)
            status = -1;
        else
            tell_host(&telling);
    }
    dense_map_release(&telling.process_ids);
    array_release(&telling.processes);
    return status;
}
