/*
 * Kernels that threads of NCCL launched: those of non-blocking communicators. No range is open on these threads.
 *
 * A program may not call such a communicator again before its last operation was launched, and each launch has a thread
 * of its own. So a kernel is of the last call of a communicator, unless that launched its kernels already; it is left
 * alone where several communicators have such a call. Once as many kernels came as there are such calls, none of them
 * waits any more. NCCL's profiler plugin says it outright: it is given the
 * operations on the thread that launched them, right after the launch.
 */
#include "common/array.h"
#include "common/lookup.h"
#include "trace/meaning/base/process.h"
#include "trace/meaning/collectives/collectives.h"
#include "trace/meaning/nvtx/nvtx.h"

/* A call of a communicator. */
struct turn {
    uint64_t start; /* of the range in which its kernel is launched */
    uint64_t until; /* when the communicator is called again */
    uint32_t communicator, launcher, call;
};

/* An operation that the plugin was given on a thread. */
struct told {
    uint64_t time;
    uint32_t thread, call;
};

/* A call that may have launched a kernel. */
struct waiting {
    struct turn turn;
    uint32_t thread; /* of its launch + 1, 0: there was none */
    uint32_t others; /* kernels that may be its own, or another call's */
    bool has_kernel;
};

struct finding {
    const struct process *process;
    struct communication *collectives;
    FILE_VECTOR(struct turn) turns;
    FILE_VECTOR(struct told) told;
    ARRAY(struct waiting) waiting;
    size_t next; /* in turns */
};

ORDER_BY(by_communicator, struct turn, communicator, start, launcher, call)
ORDER_BY(by_start, struct turn, start, communicator, launcher, call)
ORDER_BY(by_thread, struct told, thread, time)
ORDER_BY(by_time, struct collective_kernel, launched, correlation)

/* --- calls --- */

static int put_turns(struct finding *finding)
{
    const struct communication *collectives = finding->collectives;
    const struct nvtx *nvtx = finding->process->nvtx;
    for (size_t i = 0; i < collectives->calls.count; i++) {
        const struct collective_call *call = &collectives->calls.items[i];
        struct turn turn = {.start = nvtx_range(nvtx, call->launcher)->start,
                            .communicator = call->communicator,
                            .launcher = call->launcher,
                            .call = (uint32_t)i};
        if (call->communicator != 0 && !ADD(file_vector_push, &finding->turns, turn))
            return -1;
    }
    return file_vector_sort(&finding->turns, by_communicator);
}

/* Sets when each communicator is called again, from the last call to the first. */
static void set_ends(struct finding *finding)
{
    struct turn *turns = finding->turns.items;
    for (size_t i = finding->turns.count; i-- > 0;) {
        const struct turn *after = i + 1 < finding->turns.count ? &turns[i + 1] : NULL;
        bool same = after && after->communicator == turns[i].communicator;
        turns[i].until = !same ? UINT64_MAX : after->launcher == turns[i].launcher ? after->until : after->start;
    }
}

/* Calls of several ranks in one process, of a rank that is alone, and those that launch no kernels or launched theirs
 * themselves, wait for none. */
static bool may_wait(const struct communication *collectives, const struct turn *turn)
{
    const struct collective_communicator *communicator = &collectives->communicators.items[turn->communicator - 1];
    return communicator->domain == COLLECTIVE_NCCL && communicator->here <= 1 && communicator->ranks != 1 &&
           collectives->calls.items[turn->call].function->kernel != COLLECTIVE_NO_KERNEL &&
           !collectives_has_kernel(collectives, turn->launcher);
}

static int put_told(struct finding *finding)
{
    const struct communication *collectives = finding->collectives;
    for (size_t i = 0; i < collectives->tasks.count; i++) {
        const struct collective_task *task = &collectives->tasks.items[i];
        struct told told = {.time = task->record->head.time, .thread = task->thread, .call = task->call - 1};
        if (task->call != 0 && !ADD(file_vector_push, &finding->told, told))
            return -1;
    }
    return file_vector_sort(&finding->told, by_thread);
}

/* --- a kernel --- */

/* Leaves in `waiting` the calls that may have launched a kernel at TIME. Returns 0, or -1: no memory. */
static int wait_until(struct finding *finding, uint64_t time)
{
    const struct turn *turns = finding->turns.items;
    size_t kept = 0;
    for (; finding->next < finding->turns.count && turns[finding->next].start <= time; finding->next++) {
        const struct waiting waiting = {.turn = turns[finding->next]};
        if (may_wait(finding->collectives, &waiting.turn) && !ADD(array_push, &finding->waiting, waiting))
            return -1;
    }
    for (size_t i = 0; i < finding->waiting.count; i++)
        if (finding->waiting.items[i].turn.until > time)
            finding->waiting.items[kept++] = finding->waiting.items[i];
    finding->waiting.count = kept;
    return 0;
}

static bool can_be_of(const struct finding *finding, const struct collective_kernel *kernel,
                      const struct waiting *waiting)
{
    const struct collective_call *call = &finding->collectives->calls.items[waiting->turn.call];
    return !waiting->has_kernel && call->function->kernel == (enum collective_kernels)kernel->does &&
           (call->device == kernel->device || call->device == COLLECTIVE_NO_DEVICE) &&
           (waiting->thread == 0 || waiting->thread == kernel->thread + 1);
}

/* The launcher of the only calls that it can be of; COLLECTIVE_STRAY: there are none, or others. */
static uint32_t only_launcher(const struct finding *finding, const struct collective_kernel *kernel)
{
    uint32_t launcher = COLLECTIVE_STRAY;
    for (size_t i = 0; i < finding->waiting.count; i++) {
        const struct waiting *waiting = &finding->waiting.items[i];
        if (!can_be_of(finding, kernel, waiting))
            continue;
        if (launcher != COLLECTIVE_STRAY && launcher != waiting->turn.launcher)
            return COLLECTIVE_STRAY;
        launcher = waiting->turn.launcher;
    }
    return launcher;
}

/* What the plugin was given first on the thread after the launch, if it is what the kernel does. */
static uint32_t told_launcher(const struct finding *finding, const struct collective_kernel *kernel)
{
    const struct told *told = finding->told.items;
    size_t place = COUNT_BEFORE(finding->told.count, i,
                                told[i].thread < kernel->thread ||
                                    (told[i].thread == kernel->thread && told[i].time < kernel->launched));
    if (place == finding->told.count || told[place].thread != kernel->thread)
        return COLLECTIVE_STRAY;
    const struct collective_call *call = &finding->collectives->calls.items[told[place].call];
    bool does = call->function->kernel == (enum collective_kernels)kernel->does;
    return does && call->start <= kernel->launched ? call->launcher : COLLECTIVE_STRAY;
}

static void has_launched(struct finding *finding, const struct collective_kernel *kernel)
{
    bool taken = false;
    for (size_t i = 0; i < finding->waiting.count; i++) {
        struct waiting *waiting = &finding->waiting.items[i];
        if (waiting->turn.launcher != kernel->launcher)
            continue;
        bool is_of = !taken && can_be_of(finding, kernel, waiting);
        waiting->thread = kernel->thread + 1;
        waiting->has_kernel |= is_of;
        taken |= is_of;
    }
}

/* KERNEL can be of several calls. */
static void may_have_launched(struct finding *finding, const struct collective_kernel *kernel)
{
    uint32_t calls = 0, least = UINT32_MAX;
    for (size_t i = 0; i < finding->waiting.count; i++) {
        struct waiting *waiting = &finding->waiting.items[i];
        if (!can_be_of(finding, kernel, waiting))
            continue;
        waiting->others++;
        calls++;
        least = waiting->others < least ? waiting->others : least;
    }
    for (size_t i = 0; i < finding->waiting.count && least >= calls; i++)
        if (can_be_of(finding, kernel, &finding->waiting.items[i]))
            finding->waiting.items[i].has_kernel = true;
}

/* --- operations that do not say their call: before version 5 of the plugin --- */

/* The stray that was launched last on THREAD before TIME; NULL: there is none. STRAYS are by thread. */
static const struct collective_kernel *stray_before(const struct communication *collectives, uint32_t thread,
                                                    uint64_t time)
{
    const struct collective_kernel *strays = collectives->strays.items;
    size_t place =
        COUNT_BEFORE(collectives->strays.count, i,
                     strays[i].thread < thread || (strays[i].thread == thread && strays[i].launched <= time));
    return place > 0 && strays[place - 1].thread == thread ? &strays[place - 1] : NULL;
}

ORDER_BY(by_thread_and_time, struct collective_kernel, thread, launched, correlation)

static int join_tasks(struct communication *collectives)
{
    if (file_vector_sort(&collectives->strays, by_thread_and_time) != 0)
        return -1;
    for (size_t i = 0; i < collectives->tasks.count; i++) {
        const struct collective_task *task = &collectives->tasks.items[i];
        bool open = task->call == 0 && task->record->called == 0;
        const struct collective_kernel *kernel =
            open ? stray_before(collectives, task->thread, task->record->head.time) : NULL;
        if (kernel && kernel->launcher != COLLECTIVE_STRAY)
            collectives_join_launched(collectives, (uint32_t)i, kernel->launcher);
    }
    return 0;
}

/* --- all --- */

static int find_launchers(struct finding *finding)
{
    struct collective_kernel *strays = finding->collectives->strays.items;
    for (size_t i = 0; i < finding->collectives->strays.count; i++) {
        struct collective_kernel *kernel = &strays[i];
        if (wait_until(finding, kernel->launched) != 0)
            return -1;
        kernel->launcher = told_launcher(finding, kernel);
        if (kernel->launcher == COLLECTIVE_STRAY)
            kernel->launcher = only_launcher(finding, kernel);
        if (kernel->launcher == COLLECTIVE_STRAY)
            may_have_launched(finding, kernel);
        else
            has_launched(finding, kernel);
    }
    return 0;
}

int collectives_find_strays(struct process *process)
{
    struct communication *collectives = process->collectives;
    struct finding finding = {.process = process, .collectives = collectives};
    finding.turns.memory.directory = finding.told.memory.directory = collectives->calls.memory.directory;
    int result = file_vector_sort(&collectives->strays, by_time) == 0 && put_turns(&finding) == 0 ? 0 : -1;
    if (result == 0) {
        set_ends(&finding);
        result = file_vector_sort(&finding.turns, by_start) == 0 && put_told(&finding) == 0 ? 0 : -1;
    }
    result = result == 0 ? find_launchers(&finding) : -1;
    for (size_t i = 0; i < collectives->strays.count && result == 0; i++)
        if (collectives->strays.items[i].launcher != COLLECTIVE_STRAY)
            result = ADD(file_vector_push, &collectives->kernels, collectives->strays.items[i]) ? 0 : -1;
    result = result == 0 ? join_tasks(collectives) : -1;
    file_vector_release(&finding.turns);
    file_vector_release(&finding.told);
    array_release(&finding.waiting);
    return result;
}
