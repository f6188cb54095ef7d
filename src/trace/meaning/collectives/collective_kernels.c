/*
 * Kernels that calls of NCCL launched. Several threads scan them one by one; when all are known, the calls are assigned
 * to them.
 */
#include "trace/meaning/collectives/collective_kernels.h"

#include "common/log.h"
#include "trace/meaning/collectives/collectives_write.h"
#include "trace/meaning/collectives/collectives.h"
#include "trace/meaning/launches/launches.h"
#include "trace/meaning/nvtx/nvtx_data.h"

/* Returns what the kernel's name contains, from the cache if possible. */
static struct collective_name read_name(struct collective_kernels_found *found, const struct process *process,
                                        const struct event *event)
{
    uint32_t number = kernel_name_number(process, event);
    if (number == NAMES_NO_MEMORY)
        return (struct collective_name){0};
    struct collective_name *known = &found->names[number % (sizeof(found->names) / sizeof(*found->names))];
    if (known->number != number + 1) {
        const struct name *name = names_get(&process->conversion->names, number);
        known->number = number + 1;
        known->does = (uint16_t)collective_kernel_named(name->text, name->length);
        known->type = (uint16_t)collective_type_of_kernel(name->text, name->length);
    }
    return *known;
}

/* For a kernel of a graph: notes its type for the call that was captured, once for each node. */
static int scan_node(struct collective_kernels_found *found, const struct process *process, const struct event *event)
{
    const struct collective_name name = read_name(found, process, event);
    size_t first;
    uint32_t thread;
    uint64_t time;
    bool is_new;
    if (name.type == 0)
        return 0;
    if (!map_put(&found->nodes, event->kernel.graph_node, &is_new))
        return error_no_memory("collective operations");
    if (!is_new || !collectives_find_capture(process, event, &thread, &time))
        return 0;
    size_t count = collectives_launched(process, &found->places, thread, time, &first);
    if (count == 0 || collectives_of_function(process->collectives, name.does, &first, count) != 1 ||
        process->collectives->calls.items[first].function->kernel != name.does)
        return 0;
    const struct collective_captured captured = {(uint32_t)first, name.type};
    return ADD(array_push, &found->captured, captured) ? 0 : error_no_memory("collective operations");
}

int collectives_scan(struct collective_kernels_found *found, const struct process *process, const struct event *event)
{
    const struct communication *collectives = process->collectives;
    size_t first;
    if (collectives->calls.count == 0 || event->type != EVENT_KERNEL)
        return 0;
    if (event->kernel.graph_node != 0)
        return scan_node(found, process, event);
    const struct launch *launch = event->correlation ? launches_get(process->launches, event->correlation) : NULL;
    if (!launch || launch->from == LAUNCH_UNKNOWN)
        return 0;
    uint32_t range = collectives_range_at(process, &found->places, launch->thread, launch->start);
    size_t count = range ? collectives_launched(process, &found->places, launch->thread, launch->start, &first) : 0;
    if (range && count == 0)
        return 0;
    const struct collective_name name = read_name(found, process, event);
    if (!range && name.does == COLLECTIVE_NO_KERNEL)
        return 0;
    const struct collective_kernel kernel = {.launched = launch->start,
                                             .launcher = range ? range - 1 : COLLECTIVE_STRAY,
                                             .thread = launch->thread,
                                             .correlation = event->correlation,
                                             .device = event->device,
                                             .does = name.does,
                                             .type = name.type};
    return ADD(array_push, &found->items, kernel) ? 0 : error_no_memory("collective operations");
}

/* Sets the type of a call that a kernel does alone: a kernel of several calls may do other types, too. */
static void set_type(struct collective_call *call, enum collective_kernels does, uint32_t type)
{
    bool fits = type != 0 && call->function->kernel == does && call->bytes % collective_types[type - 1].bytes == 0;
    call->type = fits ? type : call->type;
}

int collectives_join_found(struct communication *collectives, struct collective_kernels_found *found)
{
    for (size_t i = 0; i < found->items.count; i++) {
        const struct collective_kernel *kernel = &found->items.items[i];
        bool added = kernel->launcher == COLLECTIVE_STRAY ? ADD(file_vector_push, &collectives->strays, *kernel)
                                                          : ADD(file_vector_push, &collectives->kernels, *kernel);
        if (!added)
            return error_no_memory("collective operations");
    }
    for (size_t i = 0; i < found->captured.count; i++) {
        const struct collective_captured *captured = &found->captured.items[i];
        struct collective_call *call = &collectives->calls.items[captured->call];
        set_type(call, call->function->kernel, captured->type);
    }
    found->items.count = found->captured.count = 0;
    return 0;
}

void collective_kernels_found_release(struct collective_kernels_found *found)
{
    array_release(&found->items);
    array_release(&found->captured);
    map_release(&found->nodes);
}

/* --- which calls a kernel does --- */

ORDER_BY(by_launch, struct collective_kernel, launcher, does, device, launched, correlation)
ORDER_BY(by_correlation, struct collective_kernel, correlation)

/* Returns the first of the calls, up to *END, that KERNEL may do; all calls of its launcher if none fits it. */
static size_t calls_for(const struct communication *collectives, const struct collective_kernel *kernel, size_t *end)
{
    const struct collective_call *calls = collectives->calls.items;
    size_t count = collectives->calls.count, all = COUNT_BEFORE(count, i, calls[i].launcher < kernel->launcher);
    size_t first = SIZE_MAX, i = all;
    for (; i < count && calls[i].launcher == kernel->launcher; i++) {
        uint32_t device = calls[i].device;
        if (calls[i].function->kernel != kernel->does || (device != kernel->device && device != COLLECTIVE_NO_DEVICE))
            continue;
        first = first == SIZE_MAX ? i : first;
        *end = i + 1;
    }
    if (first == SIZE_MAX)
        *end = i;
    return first == SIZE_MAX ? all : first;
}

/* Assigns calls to COUNT kernels of one launch, function and device. */
static void share_calls(struct communication *collectives, struct collective_kernel *kernels, size_t count)
{
    size_t end = 0, first = calls_for(collectives, kernels, &end), calls = end - first;
    for (size_t i = 0; i < count; i++) {
        size_t from = calls * i / count, to = calls * (i + 1) / count;
        kernels[i].first = (uint32_t)(first + from);
        kernels[i].count = (uint32_t)(to > from ? to - from : 1);
        for (size_t k = from; k < to; k++)
            collectives->calls.items[first + k].leader = kernels[i].first;
    }
    if (count == 1 && calls == 1)
        set_type(&collectives->calls.items[first], (enum collective_kernels)kernels->does, kernels->type);
}

/* Whether a call of LAUNCHER launched a kernel within its range. The kernels must be sorted by launcher. */
static bool has_kernel(const struct communication *collectives, uint32_t launcher)
{
    const struct collective_kernel *kernels = collectives->kernels.items;
    size_t place = COUNT_BEFORE(collectives->kernels.count, i, kernels[i].launcher < launcher);
    return place < collectives->kernels.count && kernels[place].launcher == launcher;
}

/* --- kernels that threads of NCCL launched --- */

/*
 * Kernels that threads of NCCL launched: those of non-blocking communicators. No range is open on these threads.
 *
 * A program may not call such a communicator again before its last operation was launched, and each launch has a thread
 * of its own. So a kernel belongs to the last call of a communicator, unless that call has launched its kernels
 * already. If several communicators have such a call, the kernel is not assigned; once there are as many of these
 * kernels as calls, none of the calls waits any more. NCCL's profiler plugin settles the question: NCCL tells it about
 * operations on the thread that launched them, right after the launch.
 */

/* A call of a communicator. */
struct turn {
    uint64_t start; /* of the range in which its kernel would be launched */
    uint64_t until; /* when the communicator is called again */
    uint32_t communicator, launcher, call;
};

/* An operation that NCCL told the plugin about on a thread. */
struct task_launch {
    uint64_t time;
    uint32_t thread, call;
};

/* A call that may have launched a kernel. */
struct waiting {
    struct turn turn;
    uint32_t thread; /* thread that launched its first kernel + 1, 0: none did */
    uint32_t others; /* how many kernels may be its own or another call's */
    bool has_kernel; /* it does not wait any more */
};

struct finding {
    const struct process *process;
    struct communication *collectives;
    FILE_VECTOR(struct turn) turns;
    FILE_VECTOR(struct task_launch) tasks;
    ARRAY(struct waiting) waiting;
    size_t next; /* index in turns of the first call after the kernels so far */
};

ORDER_BY(by_communicator, struct turn, communicator, start, launcher, call)
ORDER_BY(by_start, struct turn, start, communicator, launcher, call)
ORDER_BY(by_thread, struct task_launch, thread, time)
ORDER_BY(by_time, struct collective_kernel, launched, correlation)

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

/* Whether a call may wait for a kernel. Not if its process has several ranks or its rank is alone in the communicator,
 * if it launches no kernels, or if it launched its kernels itself. */
static bool may_wait(const struct communication *collectives, const struct turn *turn)
{
    const struct collective_communicator *communicator = &collectives->communicators.items[turn->communicator - 1];
    return communicator->domain == COLLECTIVE_NCCL && communicator->here <= 1 && communicator->ranks != 1 &&
           collectives->calls.items[turn->call].function->kernel != COLLECTIVE_NO_KERNEL &&
           !has_kernel(collectives, turn->launcher);
}

static int list_tasks(struct finding *finding)
{
    const struct communication *collectives = finding->collectives;
    for (size_t i = 0; i < collectives->tasks.count; i++) {
        const struct collective_task *task = &collectives->tasks.items[i];
        struct task_launch launch = {.time = task->record->head.time, .thread = task->thread, .call = task->call - 1};
        if (task->call != 0 && !ADD(file_vector_push, &finding->tasks, launch))
            return -1;
    }
    return file_vector_sort(&finding->tasks, by_thread);
}

static bool can_be_of(const struct finding *finding, const struct collective_kernel *kernel,
                      const struct waiting *waiting)
{
    const struct collective_call *call = &finding->collectives->calls.items[waiting->turn.call];
    return !waiting->has_kernel && call->function->kernel == (enum collective_kernels)kernel->does &&
           (call->device == kernel->device || call->device == COLLECTIVE_NO_DEVICE) &&
           (waiting->thread == 0 || waiting->thread == kernel->thread + 1);
}

/* Returns the launcher of the only calls that may be the kernel's, or COLLECTIVE_STRAY if there are none or several. */
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

/* Returns the launcher of the first operation that the plugin saw on the thread after the launch, if the kernel does
 * its function; else COLLECTIVE_STRAY. */
static uint32_t launcher_by_task(const struct finding *finding, const struct collective_kernel *kernel)
{
    const struct task_launch *tasks = finding->tasks.items;
    size_t place = COUNT_BEFORE(finding->tasks.count, i,
                                tasks[i].thread < kernel->thread ||
                                    (tasks[i].thread == kernel->thread && tasks[i].time < kernel->launched));
    if (place == finding->tasks.count || tasks[place].thread != kernel->thread)
        return COLLECTIVE_STRAY;
    const struct collective_call *call = &finding->collectives->calls.items[tasks[place].call];
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

/* Notes that KERNEL may belong to several calls. */
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

/* --- operations without their call: before version 5 of the plugin's interface --- */

/* Returns the last stray that THREAD launched before TIME, or NULL. The strays must be sorted by thread. */
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

static int find_launchers(struct finding *finding)
{
    struct collective_kernel *strays = finding->collectives->strays.items;
    for (size_t i = 0; i < finding->collectives->strays.count; i++) {
        struct collective_kernel *kernel = &strays[i];
        /* Reduces `waiting` to the calls that may have launched the kernel. */
        const struct turn *turns = finding->turns.items;
        size_t kept = 0;
        for (; finding->next < finding->turns.count && turns[finding->next].start <= kernel->launched;
             finding->next++) {
            const struct waiting waiting = {.turn = turns[finding->next]};
            if (may_wait(finding->collectives, &waiting.turn) && !ADD(array_push, &finding->waiting, waiting))
                return -1;
        }
        for (size_t k = 0; k < finding->waiting.count; k++)
            if (finding->waiting.items[k].turn.until > kernel->launched)
                finding->waiting.items[kept++] = finding->waiting.items[k];
        finding->waiting.count = kept;
        kernel->launcher = launcher_by_task(finding, kernel);
        if (kernel->launcher == COLLECTIVE_STRAY)
            kernel->launcher = only_launcher(finding, kernel);
        if (kernel->launcher == COLLECTIVE_STRAY)
            may_have_launched(finding, kernel);
        else
            has_launched(finding, kernel);
    }
    return 0;
}

/* Finds the calls of strays and adds these strays to the kernels, which must be sorted by launcher. Returns 0, or -1
 * without memory. */
static int find_strays(struct process *process)
{
    struct communication *collectives = process->collectives;
    struct finding finding = {.process = process, .collectives = collectives};
    finding.turns.memory.directory = finding.tasks.memory.directory = collectives->calls.memory.directory;
    int result = file_vector_sort(&collectives->strays, by_time) == 0 && put_turns(&finding) == 0 ? 0 : -1;
    if (result == 0) {
        /* Computes, from the last call to the first, when each communicator is called again. */
        struct turn *turns = finding.turns.items;
        for (size_t i = finding.turns.count; i-- > 0;) {
            const struct turn *after = i + 1 < finding.turns.count ? &turns[i + 1] : NULL;
            bool same = after && after->communicator == turns[i].communicator;
            turns[i].until = !same ? UINT64_MAX : after->launcher == turns[i].launcher ? after->until : after->start;
        }
        result = file_vector_sort(&finding.turns, by_start) == 0 && list_tasks(&finding) == 0 ? 0 : -1;
    }
    result = result == 0 ? find_launchers(&finding) : -1;
    for (size_t i = 0; i < collectives->strays.count && result == 0; i++)
        if (collectives->strays.items[i].launcher != COLLECTIVE_STRAY)
            result = ADD(file_vector_push, &collectives->kernels, collectives->strays.items[i]) ? 0 : -1;
    result = result == 0 ? join_tasks(collectives) : -1;
    file_vector_release(&finding.turns);
    file_vector_release(&finding.tasks);
    array_release(&finding.waiting);
    return result;
}

int collectives_share(struct process *process)
{
    struct communication *collectives = process->collectives;
    if (file_vector_sort(&collectives->kernels, by_launch) != 0)
        return error_no_memory("collective operations");
    if (collectives->strays.count > 0 &&
        (find_strays(process) != 0 || file_vector_sort(&collectives->kernels, by_launch) != 0))
        return error_no_memory("collective operations");
    struct collective_kernel *kernels = collectives->kernels.items;
    size_t count = collectives->kernels.count;
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count && kernels[next].launcher == kernels[first].launcher &&
                               kernels[next].does == kernels[first].does &&
                               kernels[next].device == kernels[first].device;)
            next++;
        share_calls(collectives, &kernels[first], next - first);
    }
    return file_vector_sort(&collectives->kernels, by_correlation) == 0 ? 0 : error_no_memory("collective operations");
}
