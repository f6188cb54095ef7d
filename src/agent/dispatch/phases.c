/*
 * Keeps the list of open phases of compilation, and publishes each start and end, and the moments when the first phase
 * begins and the last ends. A phase ends with its call, or, for a capture, with its stream, context or thread.
 */
#include "agent/dispatch/phases.h"

#include <pthread.h>
#include <stdlib.h>

#include "agent/dispatch/registry.h"
#include "common/clock.h"
#include "common/threads.h"

struct phase {
    struct phase *next;               /* the phase that began before this one */
    const void *owner;                /* thread whose end ends the phase; NULL: none */
    const struct CUstream_st *stream; /* the captured stream; NULL if the phase lasts as long as its call */
    struct gputrace_call call;        /* the call that began the phase */
    uint64_t number;
    enum gputrace_trigger trigger;
};

static struct {
    pthread_mutex_t lock; /* guards all members; held while publishing, so that starts and ends come in order */
    struct phase *going_on;
    unsigned pending;
    uint64_t last;
    bool forgotten; /* there was no subscriber for a while: the list is out of date */
} phases = {.lock = PTHREAD_MUTEX_INITIALIZER};

static __thread char this_thread; /* its address identifies the thread */
static struct thread_key at_thread_end;

/* --- publishing --- */

static void publish_end(const struct phase *phase, const struct gputrace_call *last, enum gputrace_ending ending)
{
    struct gputrace_call call = phase->call;
    call.end = last->end;
    call.result = last->result;
    registry_compilation_phase_end_publish(
        &(struct gputrace_compilation_phase_end){call, phase->number, phase->trigger, phases.pending, ending});
    if (phases.pending == 0)
        registry_compilation_end_publish(
            &(struct gputrace_compilation_end){call, phase->number, phase->trigger, phases.pending});
}

/* --- the list of open phases; under the lock --- */

static void lock(void)
{
    pthread_mutex_lock(&phases.lock);
    if (__atomic_exchange_n(&phases.forgotten, false, __ATOMIC_RELAXED)) {
        while (phases.going_on) {
            struct phase *phase = phases.going_on;
            phases.going_on = phase->next;
            free(phase);
        }
        phases.pending = 0;
    }
}

static void end_phase(struct phase **at, const struct gputrace_call *last, enum gputrace_ending ending)
{
    struct phase *phase = *at;
    *at = phase->next;
    phases.pending--;
    publish_end(phase, last, ending);
    free(phase);
}

/* Ends the phases of a thread (OWNER), of the captured STREAM and of CONTEXT; each may be NULL. */
static void end_all(const void *owner, const struct CUstream_st *stream, const struct CUctx_st *context,
                    const struct gputrace_call *last, enum gputrace_ending ending)
{
    lock();
    for (struct phase **at = &phases.going_on; *at;) {
        const struct phase *phase = *at;
        if ((owner && phase->owner == owner) || (stream && phase->stream == stream) ||
            (context && phase->call.context == context))
            end_phase(at, last, ending);
        else
            at = &(*at)->next;
    }
    pthread_mutex_unlock(&phases.lock);
}

static void thread_ended(void *unused)
{
    uint64_t now = clock_now();
    struct gputrace_call none = {.start = now, .end = now};
    (void)unused;
    if (!fork_unannounced())
        end_all(&this_thread, NULL, NULL, &none, GPUTRACE_ENDING_THREAD_ENDED);
}

/* Whether this thread is in a client's callback, whose CUDA calls are not published. The callback may have been called
 * from here, under the lock. */
static bool is_clients(void)
{
    const struct epoch_reader *reader = epoch_reader();
    return !reader || reader->in_client;
}

void phase_begins(enum gputrace_trigger trigger, const struct CUstream_st *stream, bool bound,
                  const struct gputrace_call *call)
{
    bool wanted = registry_compilation_start_wanted() || registry_compilation_end_wanted() ||
                  registry_compilation_phase_start_wanted() || registry_compilation_phase_end_wanted();
    struct phase *phase = wanted && !is_clients() ? malloc(sizeof(*phase)) : NULL;
    if (!phase)
        return;
    if (bound)
        thread_key_set(&at_thread_end, thread_ended);
    lock();
    *phase = (struct phase){
        .next = phases.going_on,
        .owner = bound ? &this_thread : NULL,
        .stream = stream,
        .call = *call,
        .number = ++phases.last,
        .trigger = trigger,
    };
    phases.going_on = phase;
    phases.pending++;
    struct gputrace_call start = phase->call;
    start.end = start.start;
    if (phases.pending == 1)
        registry_compilation_start_publish(
            &(struct gputrace_compilation_start){start, phase->number, trigger, phases.pending});
    registry_compilation_phase_start_publish(
        &(struct gputrace_compilation_phase_start){start, phase->number, trigger, phases.pending});
    pthread_mutex_unlock(&phases.lock);
}

void phase_call_returns(const struct gputrace_call *call)
{
    if (is_clients())
        return;
    lock();
    for (struct phase **at = &phases.going_on; *at; at = &(*at)->next) {
        const struct phase *phase = *at;
        bool same = phase->owner == &this_thread && !phase->stream && phase->call.function == call->function &&
                    phase->call.correlation == call->correlation;
        if (same) {
            end_phase(at, call, GPUTRACE_ENDING_RETURNED);
            break;
        }
    }
    pthread_mutex_unlock(&phases.lock);
}

void phases_end(const struct CUstream_st *stream, const struct CUctx_st *context, const struct gputrace_call *call,
                enum gputrace_ending ending)
{
    if (!is_clients())
        end_all(NULL, stream, context, call, ending);
}

unsigned phases_pending(void)
{
    lock();
    unsigned pending = phases.pending;
    pthread_mutex_unlock(&phases.lock);
    return pending;
}

void phases_forget(void)
{
    __atomic_store_n(&phases.forgotten, true, __ATOMIC_RELAXED);
}

void phases_atfork_child(void)
{
    pthread_mutex_init(&phases.lock, NULL);
    phases.going_on = NULL; /* another thread may have been changing the list at the fork, so its memory is not freed */
    phases.pending = 0;
}
