#include "trace/pftrace/interned.h"

#include <string.h>

#include "trace/pftrace/fields.h"

#define IID_MOST (1u << 20)  /* a larger one is no number of something interned here */
#define GAPS_MOST (1u << 19) /* of all tables: who writes traces numbers what is interned from 1 on */

static void release_kernels(struct pftrace_tables *tables)
{
    for (size_t i = 0; i < tables->kernels.count; i++)
        array_release(&tables->kernels.items[i].args);
    array_release(&tables->kernels);
}

void pftrace_tables_clear(struct pftrace_tables *tables, struct pftrace_interning *interning)
{
    interning->gaps -= tables->gaps;
    array_release(&tables->categories);
    array_release(&tables->names);
    array_release(&tables->arg_names);
    array_release(&tables->compute_arg_names);
    array_release(&tables->texts);
    array_release(&tables->specifications);
    release_kernels(tables);
    *tables = (struct pftrace_tables){0};
}

/* Makes room for the gaps that an array of COUNT items gets when it is to have an item IID. */
static bool take_gaps(struct pftrace_tables *tables, struct pftrace_interning *interning, size_t count, uint64_t iid)
{
    size_t gaps = iid > count ? (size_t)(iid - count) : 0;
    if (iid >= IID_MOST || gaps > GAPS_MOST - interning->gaps)
        return false;
    tables->gaps += gaps;
    interning->gaps += gaps;
    return true;
}

/* The item of IID, made with all before it; NULL: no memory, or no such number. */
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

struct entry {
    uint64_t iid, cbid;
    uint32_t name;
};

static struct entry read_entry(struct interner *strings, struct protobuf_reader message)
{
    struct entry entry = {.name = PFTRACE_UNKNOWN};
    struct protobuf_field field;
    while (protobuf_next(&message, &field)) {
        if (field.number == PB_INTERNED_IID)
            entry.iid = field.value;
        else if (field.number == PB_INTERNED_NAME)
            entry.name = intern_field(strings, &field);
        else if (field.number == PFTRACE_OWN_CBID)
            entry.cbid = field.value;
    }
    return entry;
}

static int take_specification(struct pftrace_tables *tables, struct pftrace_interning *interning,
                              struct protobuf_reader message)
{
    struct pftrace_specification read = {PFTRACE_UNKNOWN, PFTRACE_UNKNOWN};
    uint64_t iid = 0;
    struct protobuf_field field;
    while (protobuf_next(&message, &field)) {
        if (field.number == PB_SPECIFICATION_IID)
            iid = field.value;
        else if (field.number == PB_SPECIFICATION_NAME)
            read.name = intern_field(interning->strings, &field);
        else if (field.number == PB_SPECIFICATION_DESCRIPTION)
            read.description = intern_field(interning->strings, &field);
    }
    struct pftrace_specification nothing = {PFTRACE_UNKNOWN, PFTRACE_UNKNOWN};
    struct pftrace_specification *item = ITEM_OF(tables, interning, &tables->specifications, iid, nothing);
    if (item)
        *item = read;
    return item ? 0 : -1;
}

static bool take_size(struct pftrace_sizes *sizes, const struct pftrace_arg *arg)
{
    static const char *const starts[] = {PFTRACE_GRID, PFTRACE_BLOCK};
    static const char *const names[] = {"grid", "block"};
    for (unsigned i = 0; i < 2; i++) {
        struct pftrace_arg *size = i == 0 ? &sizes->grid : &sizes->block;
        size_t length = strlen(starts[i]);
        if (arg->kind != PFTRACE_ARG_U64 || arg->name_length != length + 1 ||
            memcmp(arg->name, starts[i], length) != 0 || arg->name[length] < 'x' || arg->name[length] > 'z')
            continue;
        unsigned axis = (unsigned)(arg->name[length] - 'x');
        size->name = names[i];
        size->name_length = strlen(names[i]);
        size->kind = PFTRACE_ARG_SIZE3;
        size->size3[axis] = (int32_t)arg->u64;
        sizes->seen |= 1u << (3 * i + axis);
        return true;
    }
    return false;
}

static void set_text(struct pftrace_arg *arg, const struct protobuf_field *field)
{
    if (field->type != PROTOBUF_BYTES)
        return;
    if (arg->kind != PFTRACE_ARG_JSON)
        arg->kind = PFTRACE_ARG_TEXT;
    arg->text = (const char *)field->bytes;
    arg->length = field->size;
}

static void set_name(const struct pftrace_tables *tables, const struct interner *strings, uint64_t iid,
                     struct pftrace_arg *arg)
{
    uint32_t text = iid < tables->compute_arg_names.count ? tables->compute_arg_names.items[iid] : PFTRACE_UNKNOWN;
    if (text == PFTRACE_UNKNOWN)
        return;
    arg->name = interned(strings, text);
    arg->name_length = interner_at(strings, text)->length;
    arg->name_number = text;
}

bool pftrace_compute_arg(const struct pftrace_tables *tables, const struct interner *strings,
                         struct protobuf_reader message, struct pftrace_arg *arg, struct pftrace_sizes *sizes)
{
    bool has_value = false;
    struct protobuf_field field;
    *arg = (struct pftrace_arg){0};
    while (protobuf_next(&message, &field)) {
        if (field.number == PFTRACE_OWN_JSON) {
            if (arg->kind == PFTRACE_ARG_TEXT)
                arg->kind = PFTRACE_ARG_JSON;
            continue;
        }
        has_value |= field.number >= PB_COMPUTE_ARG_INT && field.number <= PB_COMPUTE_ARG_STRING;
        switch (field.number) {
        case PB_COMPUTE_ARG_NAME_IID: set_name(tables, strings, field.value, arg); break;
        case PB_COMPUTE_ARG_INT:
            arg->kind = PFTRACE_ARG_I64;
            arg->i64 = (int64_t)field.value;
            break;
        case PB_COMPUTE_ARG_UINT:
            arg->kind = PFTRACE_ARG_U64;
            arg->u64 = field.value;
            break;
        case PB_COMPUTE_ARG_DOUBLE:
            arg->kind = PFTRACE_ARG_REAL;
            arg->real = protobuf_double(&field);
            break;
        case PB_COMPUTE_ARG_STRING: set_text(arg, &field); break;
        default: break;
        }
    }
    return arg->name && has_value && !take_size(sizes, arg);
}

/* Texts of kernels live as long as the names. */
static int push_kernel_arg(struct pftrace_kernel *kernel, struct interner *strings, struct pftrace_arg *arg)
{
    if (arg->kind == PFTRACE_ARG_TEXT || arg->kind == PFTRACE_ARG_JSON) {
        uint32_t text = intern(strings, arg->text, arg->length);
        if (text == INTERN_NO_MEMORY)
            return -1;
        arg->text = interned(strings, text);
    }
    kernel->tells_correlation |= strcmp(arg->name, "correlation") == 0;
    struct pftrace_arg *place = array_push(&kernel->args);
    if (place)
        *place = *arg;
    return place ? 0 : -1;
}

static int push_size(struct pftrace_kernel *kernel, struct interner *strings, struct pftrace_arg *size)
{
    size->name_number = intern(strings, size->name, size->name_length);
    return size->name_number == INTERN_NO_MEMORY ? -1 : push_kernel_arg(kernel, strings, size);
}

static int read_kernel(const struct pftrace_tables *tables, struct interner *strings, struct protobuf_reader message,
                       struct pftrace_kernel *kernel, uint64_t *iid)
{
    struct pftrace_sizes sizes = {0};
    struct pftrace_arg arg;
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
        result = push_size(kernel, strings, &sizes.grid);
    if (result == 0 && sizes.seen >> 3 == 7)
        result = push_size(kernel, strings, &sizes.block);
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

static int take_text(struct pftrace_tables *tables, struct pftrace_interning *interning, uint32_t table,
                     const struct entry *entry)
{
    uint32_t *item = NULL;
    switch (table) {
    case PB_INTERNED_EVENT_CATEGORIES:
        item = ITEM_OF(tables, interning, &tables->categories, entry->iid, PFTRACE_UNKNOWN);
        break;
    case PB_INTERNED_ANNOTATION_NAMES:
        item = ITEM_OF(tables, interning, &tables->arg_names, entry->iid, PFTRACE_UNKNOWN);
        break;
    case PB_INTERNED_COMPUTE_ARG_NAMES:
        item = ITEM_OF(tables, interning, &tables->compute_arg_names, entry->iid, PFTRACE_UNKNOWN);
        break;
    case PB_INTERNED_STRING_VALUES:
        item = ITEM_OF(tables, interning, &tables->texts, entry->iid, PFTRACE_UNKNOWN);
        break;
    default: return 0;
    }
    if (item)
        *item = entry->name;
    return item ? 0 : -1;
}

static int take_name(struct pftrace_tables *tables, struct pftrace_interning *interning, const struct entry *entry)
{
    struct pftrace_name nothing = {.text = PFTRACE_UNKNOWN};
    struct pftrace_name *item = ITEM_OF(tables, interning, &tables->names, entry->iid, nothing);
    if (item)
        *item = (struct pftrace_name){.text = entry->name, .cbid = entry->cbid};
    return item ? 0 : -1;
}

/* Some arguments have names of their own where Perfetto's view of kernels knows them. */
static void name_as_ours(struct interner *strings, struct entry *entry)
{
    static const char ours[] = "registers per thread";
    if (entry->name != PFTRACE_UNKNOWN && strcmp(interned(strings, entry->name), PFTRACE_REGISTERS) == 0)
        entry->name = intern(strings, ours, sizeof(ours) - 1);
}

int pftrace_tables_take(struct pftrace_tables *tables, struct pftrace_interning *interning, struct protobuf_reader data)
{
    struct protobuf_field field;
    int result = 0;
    while (result == 0 && protobuf_next(&data, &field)) {
        struct protobuf_reader message = protobuf_inside(&field);
        if (field.number == PB_INTERNED_GPU_SPECIFICATIONS) {
            result = take_specification(tables, interning, message);
        } else if (field.number == PB_INTERNED_COMPUTE_KERNELS) {
            result = take_kernel(tables, interning, message);
        } else {
            struct entry entry = read_entry(interning->strings, message);
            if (field.number == PB_INTERNED_COMPUTE_ARG_NAMES)
                name_as_ours(interning->strings, &entry);
            result = field.number == PB_INTERNED_EVENT_NAMES ? take_name(tables, interning, &entry)
                                                             : take_text(tables, interning, field.number, &entry);
        }
    }
    return result;
}
