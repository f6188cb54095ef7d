/* Reads interned names, categories and arguments of each packet sequence into tables, by their iids in the file. */
#include "trace/pftrace/reader_interned.h"

#include <string.h>

#include "trace/json/text.h"

#define IID_MOST (1u << 20)  /* larger iids occur only in damaged files */
#define GAPS_MOST (1u << 19) /* of all tables: writers of traces count iids from 1, so gaps are rare */

void pftrace_tables_clear(struct pftrace_tables *tables, struct pftrace_interning *interning)
{
    interning->gaps -= tables->gaps;
    array_release(&tables->categories);
    array_release(&tables->names);
    array_release(&tables->arg_names);
    array_release(&tables->compute_arg_names);
    array_release(&tables->texts);
    array_release(&tables->specifications);
    for (size_t i = 0; i < tables->kernels.count; i++)
        array_release(&tables->kernels.items[i].args);
    array_release(&tables->kernels);
    *tables = (struct pftrace_tables){0};
}

/* Counts the gaps that an array of COUNT items gets by an item IID. Returns false if there are too many. */
static bool take_gaps(struct pftrace_tables *tables, struct pftrace_interning *interning, size_t count, uint64_t iid)
{
    size_t gaps = iid > count ? (size_t)(iid - count) : 0;
    if (iid >= IID_MOST || gaps > GAPS_MOST - interning->gaps)
        return false;
    tables->gaps += gaps;
    interning->gaps += gaps;
    return true;
}

/* Returns the item IID, and adds it and all before it if necessary. Returns NULL without memory or if IID is too
 * large. */
#define ITEM_OF(tables, interning, array, iid, nothing)                       \
    ({                                                                        \
        bool fits_ = take_gaps((tables), (interning), (array)->count, (iid)); \
        while (fits_ && (array)->count <= (iid)) {                            \
            __typeof__((array)->items) pushed_ = array_push(array);           \
            fits_ = pushed_ != NULL;                                          \
            if (fits_)                                                        \
                *pushed_ = (nothing);                                         \
        }                                                                     \
        fits_ ? &(array)->items[iid] : NULL;                                  \
    })

static uint32_t intern_field(struct interner *strings, const struct protobuf_field *field)
{
    return field->type == PROTOBUF_BYTES ? intern(strings, (const char *)field->bytes, field->size) : PFTRACE_UNKNOWN;
}

static enum category category_of(const struct interner *strings, uint32_t text)
{
    return text == PFTRACE_UNKNOWN ? CATEGORY_OTHER
                                   : category_find(interned(strings, text), interner_at(strings, text)->length);
}

static int take_specification(struct pftrace_tables *tables, struct pftrace_interning *interning,
                              struct protobuf_reader message)
{
    struct pftrace_specification read = {.name = PFTRACE_UNKNOWN, .category.text = PFTRACE_UNKNOWN};
    const struct pftrace_specification nothing = read;
    uint64_t iid = 0;
    struct protobuf_field field;
    while (protobuf_next(&message, &field)) {
        if (field.number == PB_SPECIFICATION_IID)
            iid = field.value;
        else if (field.number == PB_SPECIFICATION_NAME)
            read.name = intern_field(interning->strings, &field);
        else if (field.number == PB_SPECIFICATION_DESCRIPTION)
            read.category.text = intern_field(interning->strings, &field);
    }
    read.category.category = category_of(interning->strings, read.category.text);
    struct pftrace_specification *item = ITEM_OF(tables, interning, &tables->specifications, iid, nothing);
    if (item)
        *item = read;
    return item ? 0 : -1;
}

/* Reads one of the three numbers of a grid or block. Returns false if ARG is another argument. */
static bool take_size(struct pftrace_sizes *sizes, const struct arg *arg)
{
    static const char *const starts[] = {PFTRACE_GRID, PFTRACE_BLOCK};
    for (unsigned i = 0; i < 2; i++) {
        size_t length = strlen(starts[i]);
        if (arg->type != ARG_TYPE_U64 || arg->key != ARG_OTHER || arg->other_length != length + 1 ||
            memcmp(arg->other, starts[i], length) != 0 || arg->other[length] < 'x' || arg->other[length] > 'z')
            continue;
        unsigned axis = (unsigned)(arg->other[length] - 'x');
        (i == 0 ? sizes->grid : sizes->block)[axis] = (int32_t)arg->u64;
        sizes->seen |= 1u << (3 * i + axis);
        return true;
    }
    return false;
}

void pftrace_name_arg(const struct interner *strings, const struct pftrace_entry *name, struct arg *arg)
{
    arg->key = name->key;
    arg->other = name->text == PFTRACE_UNKNOWN ? "" : interned(strings, name->text);
    arg->other_length = name->text == PFTRACE_UNKNOWN ? 0 : interner_at(strings, name->text)->length;
}

void pftrace_check_raw(struct arg *arg, struct buffer *scratch)
{
    struct json_fault fault;
    struct json_text value = {arg->text, arg->length};
    if (json_check(arg->text, arg->length, &fault))
        value = json_clean(value, scratch);
    else
        arg->type = ARG_TYPE_TEXT;
    arg->text = value.at;
    arg->length = value.length;
}

bool pftrace_compute_arg(const struct pftrace_tables *tables, const struct interner *strings,
                         struct protobuf_reader message, struct arg *arg, struct pftrace_sizes *sizes)
{
    bool named = false, raw = false, has_value = false, derived = false;
    struct protobuf_field field;
    *arg = (struct arg){.type = ARG_TYPE_U64};
    while (protobuf_next(&message, &field)) {
        has_value |= field.number >= PB_COMPUTE_ARG_INT && field.number <= PB_COMPUTE_ARG_STRING;
        switch (field.number) {
        case PFTRACE_OWN_JSON: raw = true; break;
        case PFTRACE_OWN_DERIVED: derived = true; break;
        case PB_COMPUTE_ARG_NAME_IID:
            named = field.value < tables->compute_arg_names.count &&
                    tables->compute_arg_names.items[field.value].text != PFTRACE_UNKNOWN;
            if (named)
                pftrace_name_arg(strings, &tables->compute_arg_names.items[field.value], arg);
            break;
        case PB_COMPUTE_ARG_INT:
            arg->type = ARG_TYPE_I64;
            arg->i64 = (int64_t)field.value;
            break;
        case PB_COMPUTE_ARG_UINT:
            arg->type = ARG_TYPE_U64;
            arg->u64 = field.value;
            break;
        case PB_COMPUTE_ARG_DOUBLE:
            arg->type = ARG_TYPE_REAL;
            arg->real = protobuf_double(&field);
            break;
        case PB_COMPUTE_ARG_STRING:
            if (field.type != PROTOBUF_BYTES)
                break;
            arg->type = ARG_TYPE_TEXT;
            arg->text = (const char *)field.bytes;
            arg->length = field.size;
            break;
        default: break;
        }
    }
    if (raw && arg->type == ARG_TYPE_TEXT)
        arg->type = ARG_TYPE_RAW;
    return named && has_value && !derived && !take_size(sizes, arg);
}

/* Adds an argument to a kernel, with its text in the interner. Returns 0, or -1 without memory. */
static int push_kernel_arg(struct pftrace_kernel *kernel, struct interner *strings, struct arg *arg)
{
    struct buffer scratch;
    uint32_t text = 0;
    buffer_init_memory(&scratch);
    if (arg->type == ARG_TYPE_RAW)
        pftrace_check_raw(arg, &scratch);
    if (arg->type == ARG_TYPE_TEXT || arg->type == ARG_TYPE_RAW) {
        text = scratch.failure ? INTERN_NO_MEMORY : intern(strings, arg->text, arg->length);
        arg->text = text == INTERN_NO_MEMORY ? "" : interned(strings, text);
    }
    buffer_release(&scratch);
    kernel->tells_correlation |= arg->key == ARG_CORRELATION;
    struct arg *place = text == INTERN_NO_MEMORY ? NULL : array_push(&kernel->args);
    if (place)
        *place = *arg;
    return place ? 0 : -1;
}

static int push_size(struct pftrace_kernel *kernel, enum arg_key key, const int32_t size3[3])
{
    struct arg *place = array_push(&kernel->args);
    if (!place)
        return -1;
    *place = (struct arg){.key = key, .type = ARG_TYPE_SIZE3};
    memcpy(place->size3, size3, sizeof(place->size3));
    return 0;
}

static int read_kernel(const struct pftrace_tables *tables, struct interner *strings, struct protobuf_reader message,
                       struct pftrace_kernel *kernel, uint64_t *iid)
{
    struct pftrace_sizes sizes = {0};
    struct arg arg;
    struct protobuf_field field;
    int result = 0;
    while (result == 0 && protobuf_next(&message, &field)) {
        if (field.number == PB_KERNEL_IID)
            *iid = field.value;
        else if (field.number == PB_KERNEL_ARGS &&
                 pftrace_compute_arg(tables, strings, protobuf_inside(&field), &arg, &sizes))
            result = push_kernel_arg(kernel, strings, &arg);
    }
    if (result == 0 && (sizes.seen & 7) == 7)
        result = push_size(kernel, ARG_GRID, sizes.grid);
    if (result == 0 && sizes.seen >> 3 == 7)
        result = push_size(kernel, ARG_BLOCK, sizes.block);
    return result;
}

static int take_kernel(struct pftrace_tables *tables, struct pftrace_interning *interning,
                       struct protobuf_reader message)
{
    struct pftrace_kernel kernel = {.number = ++interning->kernels}, nothing = {0};
    uint64_t iid = 0;
    int result = read_kernel(tables, interning->strings, message, &kernel, &iid);
    struct pftrace_kernel *item = result == 0 ? ITEM_OF(tables, interning, &tables->kernels, iid, nothing) : NULL;
    if (!item) {
        array_release(&kernel.args);
        return -1;
    }
    array_release(&item->args);
    *item = kernel;
    return 0;
}

/* Returns the entries for a table of the file, or NULL if the reader does not need that table. */
static struct pftrace_entries *entries_of(struct pftrace_tables *tables, uint32_t table)
{
    switch (table) {
    case PB_INTERNED_EVENT_CATEGORIES: return &tables->categories;
    case PB_INTERNED_EVENT_NAMES: return &tables->names;
    case PB_INTERNED_COMPUTE_ARG_NAMES: return &tables->compute_arg_names;
    case PB_INTERNED_ANNOTATION_NAMES: return &tables->arg_names;
    case PB_INTERNED_STRING_VALUES: return &tables->texts;
    default: return NULL;
    }
}

/* Reads an entry of TABLE. Returns its iid. */
static uint64_t read_entry(struct interner *strings, uint32_t table, struct protobuf_reader message,
                           struct pftrace_entry *entry)
{
    static const char ours[] = "registers per thread";
    uint64_t iid = 0;
    struct protobuf_field field;
    while (protobuf_next(&message, &field)) {
        if (field.number == PB_INTERNED_IID)
            iid = field.value;
        else if (field.number == PB_INTERNED_NAME)
            entry->text = intern_field(strings, &field);
        else if (field.number == PFTRACE_OWN_CBID)
            entry->cbid = field.value;
    }
    /* The writer uses the name that Perfetto's view of kernels knows. */
    if (table == PB_INTERNED_COMPUTE_ARG_NAMES && entry->text != PFTRACE_UNKNOWN &&
        strcmp(interned(strings, entry->text), PFTRACE_REGISTERS) == 0)
        entry->text = intern(strings, ours, sizeof(ours) - 1);
    if (table == PB_INTERNED_EVENT_CATEGORIES)
        entry->category = category_of(strings, entry->text);
    else if (entry->text != PFTRACE_UNKNOWN && table != PB_INTERNED_EVENT_NAMES && table != PB_INTERNED_STRING_VALUES)
        entry->key = arg_key_find(interned(strings, entry->text), interner_at(strings, entry->text)->length);
    return iid;
}

static int take_entry(struct pftrace_tables *tables, struct pftrace_interning *interning, uint32_t table,
                      struct protobuf_reader message)
{
    struct pftrace_entries *entries = entries_of(tables, table);
    const struct pftrace_entry nothing = {.text = PFTRACE_UNKNOWN};
    struct pftrace_entry read = nothing;
    if (table == PB_INTERNED_GPU_SPECIFICATIONS)
        return take_specification(tables, interning, message);
    if (table == PB_INTERNED_COMPUTE_KERNELS)
        return take_kernel(tables, interning, message);
    if (!entries)
        return 0;
    uint64_t iid = read_entry(interning->strings, table, message, &read);
    struct pftrace_entry *item = ITEM_OF(tables, interning, entries, iid, nothing);
    if (item)
        *item = read;
    return item ? 0 : -1;
}

int pftrace_tables_take(struct pftrace_tables *tables, struct pftrace_interning *interning, struct protobuf_reader data)
{
    struct protobuf_field field;
    int result = 0;
    while (result == 0 && protobuf_next(&data, &field))
        result = take_entry(tables, interning, field.number, protobuf_inside(&field));
    return result;
}
