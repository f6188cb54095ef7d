/*
 * The table of launches by correlation id, in pages that several threads fill at once; and the names of kernels.
 */
#include "trace/meaning/launches/launches.h"

#include "common/log.h"
#include "trace/meaning/base/process.h"
#include "trace/spool/cupti.h"

static_assert(sizeof(struct launch) == 32, "there is one for every correlation id");

/* Lock for adding pages to any process's launches and for evicting them. */
static pthread_mutex_t pages = PTHREAD_MUTEX_INITIALIZER;

void launches_init(struct launches *launches, const char *directory)
{
    *launches = (struct launches){.groups = NULL};
    spill_init(&launches->spill, directory);
    launches->shares.memory.directory = directory;
}

void launches_release(struct launches *launches)
{
    launches_group *groups = launches->groups;
    for (size_t i = 0; groups && i < LAUNCHES_GROUPS; i++)
        free(groups[i]);
    free(groups);
    spill_release(&launches->spill);
    file_vector_release(&launches->shares);
    *launches = (struct launches){.groups = NULL};
}

void launches_evict(const struct launches *launches)
{
    pthread_mutex_lock(&pages);
    spill_evict(&launches->spill);
    pthread_mutex_unlock(&pages);
    file_vector_evict(&launches->shares);
}

/* Returns the entry's page, creating it unless another thread just did. Call it with the lock held. Returns NULL
 * without memory. */
static struct launch *put_page(struct launches *launches, uint32_t correlation)
{
    launches_group *groups = launches->groups;
    if (!groups)
        groups = calloc(LAUNCHES_GROUPS, sizeof(*groups));
    __atomic_store_n(&launches->groups, groups, __ATOMIC_RELEASE);
    if (!groups)
        return NULL;
    launches_group *place = &groups[correlation / LAUNCHES_PAGE / LAUNCHES_GROUP];
    launches_page *group = *place;
    if (!group)
        group = calloc(LAUNCHES_GROUP, sizeof(*group));
    __atomic_store_n(place, group, __ATOMIC_RELEASE);
    if (!group)
        return NULL;
    launches_page *page = &group[correlation / LAUNCHES_PAGE % LAUNCHES_GROUP];
    if (!*page)
        __atomic_store_n(page, spill_block(&launches->spill, LAUNCHES_PAGE * sizeof(struct launch)), __ATOMIC_RELEASE);
    return *page;
}

struct launch *launches_put(struct launches *launches, uint32_t correlation)
{
    struct launch *launch = launches_get(launches, correlation);
    if (launch)
        return launch;
    pthread_mutex_lock(&pages);
    struct launch *page = put_page(launches, correlation);
    pthread_mutex_unlock(&pages);
    if (page)
        return &page[correlation % LAUNCHES_PAGE];
    error_no_memory("the table of launches");
    return NULL;
}

uint32_t launches_highest(const struct launches *launches)
{
    launches_group *groups = launches->groups;
    for (size_t page = groups ? LAUNCHES_GROUPS * LAUNCHES_GROUP : 0; page-- > 0;) {
        const struct launch *launch = launches_get(launches, (uint32_t)(page * LAUNCHES_PAGE));
        if (!groups[page / LAUNCHES_GROUP])
            page -= page % LAUNCHES_GROUP;
        for (uint32_t i = LAUNCHES_PAGE; launch && i-- > 0;)
            if (launch[i].gpu_ops > 0 || launch[i].from != LAUNCH_UNKNOWN || launch[i].suppressed)
                return (uint32_t)(page * LAUNCHES_PAGE) + i;
    }
    return 0;
}

static void hold(struct launch *launch)
{
    while (__atomic_exchange_n(&launch->held, true, __ATOMIC_ACQUIRE))
        sched_yield();
}

static void let_go(struct launch *launch)
{
    __atomic_store_n(&launch->held, false, __ATOMIC_RELEASE);
}

int launches_gpu_op(struct launches *launches, uint32_t correlation)
{
    struct launch *launch = launches_put(launches, correlation);
    if (!launch)
        return -1;
    hold(launch);
    bool several = ++launch->gpu_ops > 1;
    let_go(launch);
    if (several && !__atomic_load_n(&launches->several, __ATOMIC_RELAXED))
        __atomic_store_n(&launches->several, true, __ATOMIC_RELAXED);
    return 0;
}

static enum launch_from from_domain(const struct event *api)
{
    return api->api.domain == EVENT_API_RUNTIME ? LAUNCH_RUNTIME : LAUNCH_DRIVER;
}

static uint32_t duration_of(const struct event *api)
{
    uint64_t duration = api->end - api->start;
    return duration < UINT32_MAX ? (uint32_t)duration : UINT32_MAX;
}

int launches_call(struct launches *launches, const struct event *api)
{
    struct launch *launch = launches_put(launches, api->correlation);
    enum launch_from from = from_domain(api);
    if (!launch)
        return -1;
    hold(launch);
    enum launch_from known = (enum launch_from)launch->from;
    /* Of two calls that start at once the shorter, inner one counts; calls of one thread come innermost first. */
    bool is_later = api->start > launch->start || (api->start == launch->start && duration_of(api) < launch->duration);
    if (from != known ? from > known : is_later) {
        launch->from = (uint8_t)from;
        launch->start = api->start;
        launch->duration = duration_of(api);
        launch->thread = api->thread;
    }
    let_go(launch);
    return 0;
}

int launches_suppress(struct launches *launches, const struct event *api)
{
    struct launch *launch = launches_put(launches, api->correlation);
    if (!launch)
        return -1;
    hold(launch);
    launch->suppressed = true;
    let_go(launch);
    return 0;
}

int launches_starts(struct launches *launches, uint32_t correlation, unsigned sorts)
{
    struct launch *launch = launches_put(launches, correlation);
    if (!launch)
        return -1;
    hold(launch);
    launch->sorts |= (uint8_t)(sorts & LAUNCH_ANYTHING);
    let_go(launch);
    return 0;
}

bool launch_is_suppressed(const struct launch *launch, enum event_type type)
{
    static const uint8_t sorts[EVENT_TYPE_COUNT] = {[EVENT_KERNEL] = LAUNCH_KERNELS,
                                                    [EVENT_MEMCPY] = LAUNCH_COPIES,
                                                    [EVENT_MEMSET] = LAUNCH_SETS,
                                                    [EVENT_GRAPH] = LAUNCH_GRAPHS,
                                                    [EVENT_CUDA_EVENT] = LAUNCH_CUDA_EVENTS};
    return launch->suppressed && (launch->from == LAUNCH_UNKNOWN || !(launch->sorts & sorts[type]));
}

bool launch_is_call(const struct launch *launch, const struct event *api)
{
    return (enum launch_from)launch->from == from_domain(api) && launch->start == api->start &&
           launch->thread == api->thread && launch->duration == duration_of(api);
}

enum launch_reach launch_reach(struct launch *launch, uint64_t end)
{
    bool reaches = launch_reaches(launch, end);
    hold(launch);
    launch->gpu_ops -= !reaches;
    bool several = launch->gpu_ops > 1;
    let_go(launch);
    return reaches ? several ? LAUNCH_REACHES_SEVERAL : LAUNCH_REACHES_ONE : LAUNCH_REACHES_NOT;
}

int launches_meet(struct launches *launches, uint32_t correlation, uint32_t part, uint32_t count)
{
    struct launch *launch = launches_get(launches, correlation);
    if (launch->met > 0 && launch->extra != part + 1) {
        const struct launch_share share = {.part = part, .correlation = correlation, .before = launch->met};
        if (!ADD(file_vector_push, &launches->shares, share))
            return error_no_memory("the table of launches");
    }
    launch->met += count;
    launch->extra = part + 1;
    return 0;
}

ORDER_BY(by_part, struct launch_share, part, correlation)

uint32_t launches_met_before(const struct launches *launches, uint32_t correlation, uint32_t part)
{
    const struct launch_share wanted = {.part = part, .correlation = correlation};
    const struct launch_share *share =
        launches->shares.count == 0
            ? NULL
            : bsearch(&wanted, launches->shares.items, launches->shares.count, sizeof(wanted), by_part);
    return share ? share->before : 0;
}

int launches_number(struct launches *launches, uint64_t *next)
{
    if (file_vector_sort(&launches->shares, by_part) != 0)
        return error_no_memory("the table of launches");
    launches_group *groups = launches->groups;
    for (size_t i = 0; launches->several && i < LAUNCHES_GROUPS * LAUNCHES_GROUP; i++) {
        launches_page *group = groups[i / LAUNCHES_GROUP];
        struct launch *page = group ? group[i % LAUNCHES_GROUP] : NULL;
        if (!group)
            i += LAUNCHES_GROUP - 1;
        for (size_t k = 0; page && k < LAUNCHES_PAGE; k++) {
            uint32_t more = page[k].gpu_ops > 1 ? page[k].gpu_ops - 1 : 0;
            page[k].extra = 0;
            if (more == 0 || page[k].from == LAUNCH_UNKNOWN || *next + more > UINT32_MAX)
                continue;
            page[k].extra = (uint32_t)*next;
            *next += more;
        }
    }
    launches_evict(launches);
    return 0;
}

uint32_t process_correlation(const struct process *process, uint32_t correlation)
{
    return correlation ? launch_flow(process->launches, NULL, correlation, 0) : 0;
}

#define KERNEL_NAMES_SEVERAL UINT64_MAX

int index_pointer_name(struct process *process, const struct event *event)
{
    const struct spool_pointer_name *record = event->record;
    uint32_t name = names_put_symbol(&process->conversion->names, event->text, event->text_length);
    if (name == NAMES_NO_MEMORY)
        return -1;
    return pointer_names_put(&process->symbols, record->pointer, event->start, name);
}

int index_launch_name(struct process *process, const struct event *event)
{
    uint32_t name = names_put_symbol(&process->conversion->names, event->text, event->text_length);
    if (name == NAMES_NO_MEMORY || event->correlation == 0)
        return name == NAMES_NO_MEMORY ? -1 : 0;
    uint64_t *known = map_put(&process->kernel_names->of_launch, event->correlation, NULL);
    if (!known)
        return error_no_memory("names of launches");
    *known = *known == 0 || *known == (uint64_t)name + 1 ? (uint64_t)name + 1 : KERNEL_NAMES_SEVERAL;
    return 0;
}

int index_function_name(struct process *process, const struct event *event)
{
    uint32_t name = names_put_symbol(&process->conversion->names, event->text, event->text_length);
    if (name == NAMES_NO_MEMORY)
        return -1;
    return pointer_names_put(&process->kernel_names->functions, event->graph_node.function, event->start, name);
}

int index_graph_node(struct process *process, const struct event *event)
{
    return graph_nodes_index(&process->kernel_names->nodes, event);
}

/* Returns the name in the launch record, if the launch is of a single kernel and not of a graph. */
static uint32_t name_of_launch(const struct process *process, const struct event *event)
{
    if (event->kernel.graph != 0)
        return NAMES_NO_MEMORY;
    const uint64_t *known = map_get(&process->kernel_names->of_launch, event->correlation);
    if (!known || *known == KERNEL_NAMES_SEVERAL)
        return NAMES_NO_MEMORY;
    return (uint32_t)(*known - 1);
}

/* Returns the name of the function that the graph's node launches; outside of graphs, the name of the launch. */
static uint32_t derived_name(const struct process *process, const struct event *event)
{
    const struct kernel_names *names = process->kernel_names;
    uint64_t node = event->kernel.graph_node, time = 0;
    if (event->kernel.graph == 0)
        return name_of_launch(process, event);
    uint64_t function = node ? graph_nodes_find(&names->nodes, node, event->correlation, &time) : 0;
    return function ? pointer_names_find(&names->functions, function, time) : NAMES_NO_MEMORY;
}

/* Returns the name at the kernel's pointer. A name derived from a launch holds from that launch on, until the agent
 * read a text at the pointer again. */
static uint32_t name_of_pointer(const struct process *process, const struct event *event)
{
    uint64_t pointer = event->kernel.name;
    if (!pointer)
        return NAMES_NO_MEMORY;
    const struct pointer_meaning *read = pointer_names_meaning(&process->symbols, pointer, event->start);
    const struct pointer_meaning *derived =
        pointer_names_meaning(&process->kernel_names->derived, pointer, event->start);
    if (read && derived && (derived->since > event->start || derived->since < read->since))
        derived = NULL;
    const struct pointer_meaning *meaning = derived ? derived : read;
    return meaning ? meaning->name : NAMES_NO_MEMORY;
}

bool kernel_name_is_settled(const struct process *process, const struct event *event)
{
    uint64_t pointer = event->kernel.name;
    return pointer && pointer_names_meaning(&process->symbols, pointer, event->start) &&
           name_of_launch(process, event) == NAMES_NO_MEMORY;
}

/* Only the first launch of a kernel records its name; later records of the kernel have its pointer. */
int index_kernel_name(struct process *process, const struct event *event)
{
    uint32_t known = name_of_pointer(process, event);
    bool is_known = known != NAMES_NO_MEMORY;
    uint32_t derived = is_known ? name_of_launch(process, event) : derived_name(process, event);
    if (derived == NAMES_NO_MEMORY && !is_known) {
        uint64_t *count = map_put(&process->kernel_names->unknown, event->kernel.name, NULL);
        if (!count)
            return error_no_memory("names of kernels");
        ++*count;
    }
    if (derived == NAMES_NO_MEMORY)
        return 0;
    bool has_no_time = is_known && event->in_flight;
    if (derived == known || has_no_time || !event->kernel.name)
        return 0;
    return pointer_names_put(&process->kernel_names->derived, event->kernel.name, event->start, derived);
}

/* Counts kernels that stay unnamed. A text read at the pointer would have been found by index_kernel_name(). */
static int count_unnamed(void *context, uint64_t pointer, uint64_t *count)
{
    struct process *process = context;
    if (pointer == 0 || pointer_names_find(&process->kernel_names->derived, pointer, 0) == NAMES_NO_MEMORY)
        process->losses.unnamed += *count;
    return 0;
}

void close_kernel_names(struct process *process)
{
    map_each(&process->kernel_names->unknown, count_unnamed, process);
}

uint32_t kernel_name_number(const struct process *process, const struct event *event)
{
    uint32_t name = name_of_launch(process, event);
    if (name == NAMES_NO_MEMORY)
        name = name_of_pointer(process, event);
    return name != NAMES_NO_MEMORY ? name : derived_name(process, event);
}

void kernel_names_release(struct kernel_names *names)
{
    pointer_names_release(&names->derived);
    pointer_names_release(&names->functions);
    map_release(&names->of_launch);
    map_release(&names->unknown);
}
