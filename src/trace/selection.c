/*
 * Decides for each event whether --gpu, --stream, --kernel, --thread, --process and --rank select it, and notes which
 * numbers the trace has, for the message about an option that selects nothing. Sets of ids are blocks of bits in a map
 * whose key is the upper bits of the ids.
 */
#include "trace/selection.h"

#include <stdlib.h>
#include <string.h>

#include "common/buffer.h"

#define ID_SET_BLOCK 1024u /* ids in a block */

struct id_block {
    uint64_t bits[ID_SET_BLOCK / 64];
};

static struct id_block *block_at(uint64_t value)
{
    return (struct id_block *)(uintptr_t)value;
}

static int free_block(void *context, uint64_t key, uint64_t *value)
{
    (void)context, (void)key;
    free(block_at(*value));
    return 0;
}

void id_set_release(struct id_set *set)
{
    map_each(&set->blocks, free_block, NULL);
    map_release(&set->blocks);
}

int id_set_add(struct id_set *set, uint64_t id)
{
    uint64_t *place = map_put(&set->blocks, id / ID_SET_BLOCK, NULL);
    if (!place)
        return -1;
    if (*place == 0)
        *place = (uint64_t)(uintptr_t)calloc(1, sizeof(struct id_block));
    if (*place == 0)
        return -1;
    block_at(*place)->bits[id % ID_SET_BLOCK / 64] |= UINT64_C(1) << id % 64;
    return 0;
}

bool id_set_has(const struct id_set *set, uint64_t id)
{
    const uint64_t *place = map_get(&set->blocks, id / ID_SET_BLOCK);
    return place && *place && block_at(*place)->bits[id % ID_SET_BLOCK / 64] >> id % 64 & 1;
}

int selection_init(struct selection *selection, const struct filter_options *options)
{
    *selection = (struct selection){.options = options, .only_process = EVENT_NO_ID};
    if (options->kernel && filter_compile(options, &selection->kernel) < 0)
        return -1;
    selection->has_kernel = options->kernel != NULL;
    return 0;
}

void selection_release(struct selection *selection)
{
    if (selection->has_kernel)
        regfree(&selection->kernel);
    interner_release(&selection->names);
    array_release(&selection->matching);
    id_set_release(&selection->known);
    id_set_release(&selection->kept);
    map_release(&selection->callers);
    array_release(&selection->rows);
    map_release(&selection->row_numbers);
    map_release(&selection->labels);
    map_release(&selection->hosts);
    map_release(&selection->ranks);
    filter_found_release(&selection->found);
}

static void note(struct selection *selection, enum filter_number what, int64_t number)
{
    selection->no_memory |= filter_found_note(&selection->found, selection->options, what, number) < 0;
}

/* --- processes, GPUs and names --- */

static const struct trace_gpu_row *gpu_row(const struct selection *selection, event_id row)
{
    return FIND_ITEM(&selection->rows, &selection->row_numbers, row);
}

bool selection_has_process(const struct selection *selection, event_id process)
{
    const struct selected_number *wanted = &selection->options->process, *rank = &selection->options->rank;
    bool gpu = map_get(&selection->labels, process) && !map_get(&selection->hosts, process);
    if (wanted->given && (gpu || process != event_id_number(wanted->number)))
        return false;
    if (!rank->given)
        return true;
    const uint64_t *own = map_get(&selection->ranks, process) ?: map_get(&selection->ranks, EVENT_NO_ID);
    return own && (int64_t)*own == rank->number;
}

/* Whether --process and --rank select a GPU's row or its event without a known call. */
static bool is_of_process(const struct selection *selection, event_id process)
{
    if (selection_has_process(selection, process))
        return true;
    const struct trace_gpu_row *row = gpu_row(selection, process);
    return selection_has_process(selection, row ? row->process : selection->only_process);
}

static bool is_on_gpu(const struct selection *selection, int64_t device)
{
    return !selection->options->gpu.given || device == selection->options->gpu.number;
}

/* Whether ROW shows a GPU. Sets *DEVICE to the GPU, or to FIELD_ABSENT. */
static bool is_gpu_row(const struct selection *selection, event_id row, int64_t *device)
{
    const struct trace_gpu_row *known = gpu_row(selection, row);
    const uint64_t *label = map_get(&selection->labels, row);
    *device = known ? known->device : label ? (int64_t)*label : FIELD_ABSENT;
    return known || label;
}

bool selection_has_row(const struct selection *selection, event_id row)
{
    int64_t device;
    if (!is_gpu_row(selection, row, &device))
        return selection_has_process(selection, row);
    return is_of_process(selection, row) && is_on_gpu(selection, device);
}

/* Whether --kernel matches what TEXT holds, which is empty afterwards. The zero is for sanitizers, which look for one. */
static bool matches_text(struct selection *selection, struct buffer *text)
{
    regmatch_t all = {.rm_eo = (regoff_t)text->length};
    buffer_char(text, '\0');
    selection->no_memory |= text->failure != 0;
    bool matches = !text->failure && regexec(&selection->kernel, text->data, 1, &all, REG_STARTEND) == 0;
    text->length = 0;
    return matches;
}

static bool matches_name(struct selection *selection, const char *name, size_t length)
{
    kernel_name_form *write_form = selection->options->name_form;
    struct buffer text;
    buffer_init_memory(&text);
    buffer_bytes(&text, name, length);
    bool matches = matches_text(selection, &text);
    for (unsigned i = 0; write_form && !matches && write_form(&text, i, name, length); i++)
        matches = matches_text(selection, &text);
    buffer_release(&text);
    return matches;
}

bool selection_matches(struct selection *selection, const char *name, size_t length)
{
    if (!selection->has_kernel)
        return false;
    uint32_t number = intern(&selection->names, name, length);
    char *known = number != INTERN_NO_MEMORY ? array_at(&selection->matching, number) : NULL;
    selection->no_memory |= !known;
    if (known && *known == 0)
        *known = matches_name(selection, name, length) ? 1 : 2;
    return known && *known == 1;
}

/* Whether --stream and --kernel select an event of a selected GPU. */
static bool is_selected_op(struct selection *selection, const struct event_fields *event, bool matches)
{
    const struct selected_number *stream = &selection->options->stream;
    if (stream->given && trace_event_stream(event) != stream->number)
        return false;
    if (!selection->has_kernel ||
        !category_in(event->category, CATEGORIES_GPU_OPS | CATEGORY_BIT(CATEGORY_GPU_IN_FLIGHT)))
        return true;
    selection->found.kernel |= matches;
    return matches;
}

event_id selection_thread(const struct event_fields *event)
{
    return event->of_thread != FIELD_ABSENT ? event_id_number(event->of_thread) : event->thread;
}

static bool is_on_thread(const struct selection *selection, event_id thread)
{
    const struct selected_number *wanted = &selection->options->thread;
    return !wanted->given || thread == event_id_number(wanted->number);
}

static bool is_in_windows(const struct selection *selection, int64_t time)
{
    return !selection->windows || windows_around(selection->windows, time);
}

/* Returns the key of a call in id sets. CALLER is the process's number in `callers`; 0 stands for any process. */
static uint64_t call_key(uint64_t caller, int64_t correlation)
{
    return caller << 32 | (uint64_t)correlation;
}

/* Whether the call that launched a GPU's event is of the selected process, thread and ranges. */
static bool is_launched(const struct selection *selection, const struct event_fields *event)
{
    bool correlated = event->correlation >= 0 && event->correlation <= UINT32_MAX;
    /* If the row does not tell the process that launched the event, the call of any process counts. */
    const struct trace_gpu_row *row = gpu_row(selection, event->process);
    const uint64_t *caller = map_get(&selection->callers, row ? row->process : event->process);
    uint64_t call = call_key(caller ? *caller : 0, event->correlation);
    if (selection->pending)
        return true;
    if (correlated && id_set_has(&selection->known, call))
        return id_set_has(&selection->kept, call);
    return !selection->options->thread.given && is_of_process(selection, event->process) &&
           is_in_windows(selection, event->start);
}

/* --- which events count --- */

static void note_process(struct selection *selection, event_id process)
{
    if (!event_id_is_text(process))
        note(selection, FILTER_PROCESS, event_id_value(process));
}

static void note_gpu(struct selection *selection, event_id process, int64_t device)
{
    selection->found.found[FILTER_PROCESS] |= selection->options->process.given && is_of_process(selection, process);
    note(selection, FILTER_GPU, device);
}

bool selection_judge_counter(struct selection *selection, event_id row)
{
    int64_t device;
    if (is_gpu_row(selection, row, &device))
        note_gpu(selection, row, device);
    else
        note_process(selection, row);
    return selection_has_row(selection, row);
}

static enum selection_verdict judge_gpu(struct selection *selection, const struct event_fields *event, bool matches)
{
    const struct filter_options *options = selection->options;
    bool by_process = options->process.given || options->rank.given;
    int64_t device = trace_event_device(event);
    note_gpu(selection, event->process, device);
    note(selection, FILTER_STREAM, trace_event_stream(event));
    bool here = is_on_gpu(selection, device), selected = here && is_selected_op(selection, event, matches);
    const struct trace_gpu_row *row = by_process ? gpu_row(selection, event->process) : NULL;
    if (!here || (row && !selection_has_process(selection, row->process)))
        return SELECTION_ELSEWHERE;
    return selected && is_launched(selection, event) ? SELECTION_COUNTS : SELECTION_OUTSIDE;
}

enum selection_verdict selection_judge(struct selection *selection, const struct event_fields *event, bool matches)
{
    if (category_in(event->category, CATEGORIES_ON_GPU))
        return judge_gpu(selection, event, matches);
    event_id thread = selection_thread(event);
    note(selection, FILTER_GPU, event->device); /* events of memory on the host have a device */
    note_process(selection, event->process);
    if (!event_id_is_text(thread))
        note(selection, FILTER_THREAD, event_id_value(thread));
    if (!selection_has_process(selection, event->process) ||
        (event->device >= 0 && !is_on_gpu(selection, event->device)))
        return SELECTION_ELSEWHERE;
    return is_on_thread(selection, thread) && is_in_windows(selection, event->start) ? SELECTION_COUNTS
                                                                                     : SELECTION_OUTSIDE;
}

/* --- facts of the trace --- */

void selection_add_rank(struct selection *selection, event_id process, int64_t rank)
{
    bool is_new = false;
    uint64_t *known = map_put(&selection->ranks, process, &is_new);
    selection->no_memory |= !known;
    if (known && (is_new || process == EVENT_NO_ID))
        *known = (uint64_t)rank;
    note(selection, FILTER_RANK, rank);
}

void selection_add_row(struct selection *selection, const struct trace_gpu_row *row)
{
    size_t known = selection->rows.count;
    struct trace_gpu_row *added = PUT_ITEM(&selection->rows, &selection->row_numbers, row->row);
    selection->no_memory |= !added;
    if (added && selection->rows.count > known)
        *added = *row;
}

void selection_add_label(struct selection *selection, event_id process, const char *label)
{
    if (strncmp(label, "GPU ", strlen("GPU ")) != 0)
        return;
    if (!map_set(&selection->labels, process, strtoull(label + strlen("GPU "), NULL, 10)))
        selection->no_memory = true;
}

void selection_add_call(struct selection *selection, event_id process, event_id thread, int64_t correlation,
                        int64_t start)
{
    if (correlation < 0 || correlation > UINT32_MAX)
        return;
    bool kept =
        selection_has_process(selection, process) && is_on_thread(selection, thread) && is_in_windows(selection, start);
    uint64_t *caller = map_put(&selection->callers, process, NULL);
    if (caller && *caller == 0)
        *caller = map_count(&selection->callers);
    selection->no_memory |= !caller;
    for (int any = 0; any < 2 && caller; any++) {
        uint64_t call = call_key(any ? 0 : *caller, correlation);
        selection->no_memory |=
            id_set_add(&selection->known, call) < 0 || (kept && id_set_add(&selection->kept, call) < 0);
    }
}

void selection_add_host(struct selection *selection, event_id process)
{
    selection->no_memory |= !map_put(&selection->hosts, process, NULL);
    selection->only_process = map_count(&selection->hosts) == 1 ? process : EVENT_NO_ID;
}

/* --- the fields of a slice --- */

static void set_number(struct event_fields *event, const struct arg_field *field, int64_t number)
{
    memcpy((char *)event + field->offset, &number, sizeof(number));
}

static void read_members(struct event_fields *event, const struct arg *arg)
{
    struct json_text key, value;
    for (const char *at = arg->text, *end = at + arg->length; json_member(&at, end, &key, &value);) {
        const struct arg_field *field = arg_field_find(key.at, key.length, event->category);
        bool string = json_is_string(value);
        if (field && field->type == FIELD_NUMBER)
            set_number(event, field,
                       event_number_of_text(value.at + string, value.length - 2 * (size_t)string, FIELD_ABSENT));
    }
}

static void read_args(struct event_fields *event, const struct arg *args, size_t count)
{
    for (const struct arg *arg = args; arg < args + count; arg++) {
        const struct arg_field *field = &arg_fields[arg->key];
        int64_t number = FIELD_ABSENT;
        if (arg->type == ARG_TYPE_LIST)
            read_args(event, arg->list->items, arg->list->count);
        else if (arg->type == ARG_TYPE_MEMBERS)
            read_members(event, arg);
        else if (field->type == FIELD_NUMBER && category_in(event->category, field->categories) &&
                 event_take_number(arg, &number))
            set_number(event, field, number);
    }
}

void selection_read(struct event_fields *event, char phase, const struct slice *slice)
{
    event_begin(event, slice->category);
    event->phase = phase;
    event->process = selection_id(slice->row.pid);
    event->thread = selection_id(slice->row.tid);
    event->start = (int64_t)slice->start;
    if (slice->args)
        read_args(event, slice->args->items, slice->args->count);
}
