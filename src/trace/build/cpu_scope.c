#include "trace/build/cpu_scope.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/lookup.h"
#include "trace/build/process.h"
#include "trace/build/session.h"

void cpu_scope_release(struct cpu_scope *scope)
{
    *scope = (struct cpu_scope){0};
}

void cpu_scopes_release(struct cpu_scopes *scopes)
{
    array_release(&scopes->images);
    capture_intervals_release(&scopes->any);
}

/* --- when any process recorded --- */

/* One more process records from TIME on, or one less. */
struct turn {
    uint64_t time;
    int by;
};

struct turns {
    FILE_VECTOR(struct turn) items;
};

static int add_turn(struct turns *turns, uint64_t time, bool on)
{
    const struct turn turn = {time, on ? 1 : -1};
    return ADD(file_vector_push, &turns->items, turn) ? 0 : error_no_memory("capture intervals");
}

/* Before the first mark it is as there. A process that has ended does not record. */
static int add_turns(struct turns *turns, const struct process *process)
{
    const struct capture_intervals *intervals = process->capture_intervals;
    bool on = !intervals->limited || intervals->marks.items[0].on;
    int result = on ? add_turn(turns, 0, true) : 0;
    for (size_t i = 0; intervals->limited && i < intervals->marks.count && result == 0; i++) {
        const struct capture_mark *mark = &intervals->marks.items[i];
        if (mark->on != on)
            result = add_turn(turns, mark->time, mark->on);
        on = mark->on;
    }
    uint64_t finished = process->file.header.finished;
    return result == 0 && on && intervals->limited && finished != 0 ? add_turn(turns, finished, false) : result;
}

static int by_time(const void *a, const void *b)
{
    const struct turn *left = a, *right = b;
    return left->time < right->time ? -1 : left->time > right->time;
}

static int mark(struct capture_intervals *intervals, uint64_t time, bool on)
{
    const struct event event = {.start = time, .capture = {.on = on}};
    return capture_intervals_mark(intervals, &event);
}

static int join(struct turns *turns, struct capture_intervals *any)
{
    int64_t recording = 0;
    if (file_vector_sort(&turns->items, by_time) != 0)
        return error_no_memory("capture intervals");
    int result = mark(any, 0, false);
    for (size_t i = 0; i < turns->items.count && result == 0; i++) {
        const struct turn *turn = &turns->items.items[i];
        bool last = i + 1 == turns->items.count || turns->items.items[i + 1].time != turn->time;
        recording += turn->by;
        if (last && (recording > 0) != any->marks.items[any->marks.count - 1].on)
            result = mark(any, turn->time, recording > 0);
    }
    return result;
}

/* Where no process has the library, nothing can begin a capture that was asked for. */
static bool is_limited(const struct conversion *conversion)
{
    const char *range = session_note_text(conversion->session, "capture_range");
    for (size_t i = 0; i < conversion->processes.count; i++)
        if (conversion->processes.items[i]->capture_intervals->limited)
            return true;
    return conversion->processes.count == conversion->by_launcher && range && strcmp(range, "none") != 0;
}

static int find_any(struct conversion *conversion)
{
    const char *directory = conversion->options->spool_directory;
    struct turns turns = {0};
    int result = 0;
    turns.items.memory.directory = conversion->cpu_scopes->any.marks.memory.directory = directory;
    for (size_t i = 0; i < conversion->processes.count && result == 0; i++) {
        const struct process *process = conversion_process(conversion, i);
        if (!process->file.header.by_launcher)
            result = add_turns(&turns, process);
    }
    if (result == 0)
        result = join(&turns, &conversion->cpu_scopes->any);
    file_vector_release(&turns.items);
    return result;
}

/* --- which spool is of the same program --- */

static int by_key(const void *a, const void *b)
{
    const struct cpu_scope_image *left = a, *right = b;
    return ORDER(left->key, right->key) ?: ORDER(left->started, right->started);
}

static int list_images(struct conversion *conversion)
{
    struct cpu_scopes *scopes = conversion->cpu_scopes;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        const struct process *process = conversion_process(conversion, i);
        if (process->file.header.by_launcher)
            continue;
        const struct cpu_scope_image image = {process_image_key(process), process->file.header.started, i};
        if (!ADD(array_push, &scopes->images, image))
            return error_no_memory("processes");
    }
    if (scopes->images.count > 0)
        qsort(scopes->images.items, scopes->images.count, sizeof(*scopes->images.items), by_key);
    return 0;
}

/* The library starts after the program that it is loaded into: the first spool from then on, else the last one. NULL:
 * the process has none. */
static const struct process *find_image(const struct conversion *conversion, const struct process *process)
{
    const struct cpu_scopes *scopes = conversion->cpu_scopes;
    const struct cpu_scope_image wanted = {process_image_key(process), process->file.header.started, 0};
    const struct cpu_scope_image *images = scopes->images.items;
    size_t count = scopes->images.count, place = COUNT_BEFORE(count, i, by_key(&images[i], &wanted) < 0);
    if (place > 0 && (place == count || images[place].key != wanted.key))
        place--;
    if (place == count || images[place].key != wanted.key)
        return NULL;
    const struct process *image = conversion->processes.items[images[place].index];
    return is_same_process(&image->file.header, &process->file.header) ? image : NULL;
}

int cpu_scopes_find(struct conversion *conversion)
{
    struct cpu_scopes *scopes = conversion->cpu_scopes;
    if (conversion->by_launcher == 0)
        return 0;
    bool limited = is_limited(conversion);
    if (list_images(conversion) != 0 || (limited && find_any(conversion) != 0))
        return -1;
    for (size_t i = 0; i < conversion->processes.count; i++) {
        struct process *process = conversion_process(conversion, i);
        if (!process->file.header.by_launcher)
            continue;
        const struct process *image = find_image(conversion, process);
        process->cpu_scope->own_threads = image ? image->file.header.own_threads : NULL;
        if (limited)
            process->cpu_scope->shown = image ? image->capture_intervals : &scopes->any;
    }
    return 0;
}

/* --- events --- */

bool cpu_scope_is_own(const struct process *process, uint32_t thread)
{
    const uint32_t *own = process->cpu_scope->own_threads;
    for (size_t i = 0; own && i < SPOOL_OWN_THREADS; i++)
        if (own[i] == thread)
            return thread != 0;
    return false;
}

bool cpu_scope_next(const struct process *process, const struct event *event, struct cpu_stretch *stretch)
{
    const struct capture_intervals *shown = process->cpu_scope->shown;
    bool first = !stretch->any;
    uint64_t start = first ? event->start : stretch->end;
    stretch->any = true;
    if (!first && (!shown || start >= event->end))
        return false;
    start = shown ? capture_intervals_begin(shown, start) : start;
    uint64_t end = shown ? capture_intervals_end(shown, start) : UINT64_MAX;
    stretch->start = start;
    stretch->end = end < event->end ? end : event->end;
    return start < event->end || start == event->start;
}
