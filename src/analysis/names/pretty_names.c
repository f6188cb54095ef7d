/*
 * Pretty names: writes all names in their shortest form. Names that coincide are written with more of their text in rounds, until all
 * names differ.
 */
#include "analysis/names/pretty_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/name_scan.h"
#include "analysis/names/pretty_name.h"
#include "common/buffer.h"
#include "common/array.h"
#include "common/map.h"

/* How much of a name is written. It rises in each round in which the name coincides with another one. */
enum { LEVEL_PRETTY, LEVEL_OMISSIONS, LEVEL_PLAIN, LEVEL_FULL, LEVEL_NUMBERED };

struct shown_name {
    uint32_t name;  /* number in maker.strings */
    uint32_t shown; /* number of its pretty name in maker.shown */
    int level;
    uint64_t reveal; /* the omissions to write at LEVEL_OMISSIONS */
    unsigned number; /* the number to write at LEVEL_NUMBERED */
};

/* The state while the names are made. */
struct maker {
    const struct interner *strings;
    struct shown_name *items;
    size_t count;
    struct shown_name **order; /* sorted, so that names shown alike are neighbours */
    struct interner shown;
};

void pretty_names_release(struct pretty_names *names)
{
    array_release(&names->is_kernel);
    array_release(&names->shown);
}

static int show(struct maker *maker, struct shown_name *name)
{
    struct buffer out;
    buffer_init_memory(&out);
    const struct interned *text = interner_at(maker->strings, name->name);
    if (name->level >= LEVEL_FULL)
        pretty_name_whole(&out, text->text, text->length);
    else
        pretty_name_write(&out, text->text, text->length, name->level == LEVEL_PLAIN ? PRETTY_PLAIN : name->reveal,
                          NULL);
    if (name->level == LEVEL_NUMBERED)
        buffer_format(&out, " (%u)", name->number);
    name->shown = out.failure ? INTERN_NO_MEMORY : intern(&maker->shown, out.data ? out.data : "", out.length);
    buffer_release(&out);
    return name->shown == INTERN_NO_MEMORY ? -1 : 0;
}

static int by_name(const void *left, const void *right, void *context)
{
    const struct shown_name *a = left, *b = right;
    const struct interner *strings = context;
    return strcmp(interned(strings, a->name), interned(strings, b->name));
}

static int by_shown(const void *first, const void *second)
{
    const struct shown_name *left = *(struct shown_name *const *)first, *right = *(struct shown_name *const *)second;
    return ORDER(left->shown, right->shown) ?: ORDER(left, right);
}

/* --- what to write again --- */

/* Returns the bits of the omissions in which the COUNT names of a group with equal pretty forms differ. Returns 0 if
 * there are none, or if the names have different numbers of omissions. */
static uint64_t differing_omissions(const struct maker *maker, struct shown_name *const *group, size_t count)
{
    struct pretty_omissions first, other;
    const struct interned *one = interner_at(maker->strings, group[0]->name);
    uint64_t reveal = 0;
    for (size_t i = 0; i < count; i++) {
        const struct interned *text = interner_at(maker->strings, group[i]->name);
        uint64_t bits = 0;
        struct buffer out;
        buffer_init_memory(&out);
        pretty_name_write(&out, text->text, text->length, 0, i == 0 ? &first : &other);
        buffer_release(&out);
        for (size_t k = 0; i > 0 && first.count == other.count && k < first.count; k++) {
            const struct pretty_omission *left = &first.items[k], *right = &other.items[k];
            if (left->length != right->length ||
                memcmp(one->text + left->at, text->text + right->at, left->length) != 0)
                bits |= UINT64_C(1) << k;
        }
        if (i > 0 && bits == 0)
            return 0;
        reveal |= bits;
    }
    return reveal == PRETTY_PLAIN ? 0 : reveal;
}

/* Writes each of COUNT names with equal pretty names with more of its text. Returns 0, or -1: no memory. */
static int distinguish(struct maker *maker, struct shown_name *const *group, size_t count)
{
    bool pretty = true;
    for (size_t i = 0; i < count; i++)
        pretty &= group[i]->level == LEVEL_PRETTY;
    uint64_t reveal = pretty ? differing_omissions(maker, group, count) : 0;
    for (size_t i = 0; i < count; i++) {
        struct shown_name *name = group[i];
        name->reveal = reveal;
        if (name->level == LEVEL_FULL && i == 0)
            continue; /* the first gets no number */
        name->level = reveal ? LEVEL_OMISSIONS : name->level < LEVEL_PLAIN ? LEVEL_PLAIN : name->level + 1;
        if (name->level >= LEVEL_NUMBERED) {
            name->level = LEVEL_NUMBERED;
            name->number += (unsigned)i + 1;
        }
        if (show(maker, name) < 0)
            return -1;
    }
    return 0;
}

/* Distinguishes names that coincide. Returns how many names coincided and are now written with more text; -1: no
 * memory. */
static int64_t distinguish_all(struct maker *maker)
{
    int64_t alike = 0;
    for (size_t i = 0; i < maker->count; i++)
        maker->order[i] = &maker->items[i];
    qsort(maker->order, maker->count, sizeof(*maker->order), by_shown);
    for (size_t first = 0, end; first < maker->count; first = end) {
        for (end = first + 1; end < maker->count && maker->order[end]->shown == maker->order[first]->shown;)
            end++;
        if (end - first == 1)
            continue;
        if (distinguish(maker, maker->order + first, end - first) < 0)
            return -1;
        alike += (int64_t)(end - first);
    }
    return alike;
}

/* --- all names --- */

static int make_all(struct maker *maker, const struct pretty_names *names)
{
    size_t count = 0;
    for (size_t i = 0; i < names->is_kernel.count; i++)
        count += names->is_kernel.items[i] != 0;
    int64_t alike = 1;
    maker->items = calloc(count + 1, sizeof(*maker->items));
    maker->order = calloc(count + 1, sizeof(*maker->order));
    if (!maker->items || !maker->order)
        return -1;
    for (uint32_t i = 0; i < names->is_kernel.count; i++)
        if (names->is_kernel.items[i])
            maker->items[maker->count++].name = i;
    qsort_r(maker->items, count, sizeof(*maker->items), by_name, (void *)(uintptr_t)maker->strings);
    for (size_t i = 0; i < count; i++)
        if (show(maker, &maker->items[i]) < 0)
            return -1;
    while (alike > 0)
        alike = distinguish_all(maker);
    return alike < 0 ? -1 : 0;
}

int pretty_names_make(struct pretty_names *names, struct interner *strings)
{
    struct maker maker = {.strings = strings};
    int status = make_all(&maker, names);
    while (status == 0 && names->shown.count < names->is_kernel.count)
        status = array_push(&names->shown) ? 0 : -1;
    for (size_t i = 0; i < maker.count && status == 0; i++) {
        const struct interned *text = interner_at(&maker.shown, maker.items[i].shown);
        uint32_t number = intern(strings, text->text, text->length);
        status = number == INTERN_NO_MEMORY ? -1 : 0;
        names->shown.items[maker.items[i].name] = number + 1;
    }
    interner_release(&maker.shown);
    free(maker.order);
    free(maker.items);
    return status;
}

/* --- short names: one pass over the brackets that name_scan.h paired --- */

struct shortener {
    struct name_scan scan;
    size_t at;
    char *out;
    size_t length;   /* bytes in `out` */
    bool converting; /* within "operator TYPE", where a blank does not end a return type */
};

static void copy(struct shortener *s, size_t count)
{
    memcpy(s->out + s->length, s->scan.name + s->at, count);
    s->length += count;
    s->at += count;
}

/* Copies or skips the characters at `at`. Returns false at the parameters of the function, which end the name. */
static bool step(struct shortener *s)
{
    static const char unnamed[] = "(anonymous namespace)";
    const struct name_scan *scan = &s->scan;
    char c = scan->name[s->at];
    size_t operator= scan_operator_size(scan, s->at), next = scan_step(scan, s->at);
    if (operator) {
        copy(s, operator);
        s->converting = s->at < scan->length && scan->name[s->at] == ' ';
    } else if (scan_starts(scan, s->at, scan->length, unnamed)) {
        copy(s, strlen(unnamed));
    } else if (c == '(') { /* skip the parameters of an enclosing function */
        s->at = scan_skip_qualifiers(scan, next, scan->length);
        return scan_starts(scan, s->at, scan->length, "::");
    } else if (c == '<' || c == '[') {
        s->at = next;
    } else if (c == '{') { /* "{lambda(int)#1}" becomes "{lambda#1}" */
        while (s->at < next)
            if (strchr("(<", scan->name[s->at]) && scan->partner[s->at])
                s->at = scan_step(scan, s->at);
            else
                copy(s, 1);
    } else if (c == ' ' && !s->converting) { /* the text before the blank was the return type */
        s->length = 0;
        s->at++;
    } else {
        s->converting &= c != ':';
        copy(s, 1);
    }
    return true;
}

size_t name_shorten(const char *name, size_t length, char *short_name)
{
    struct shortener s = {.scan = {name, length, calloc(length + 1, sizeof(*s.scan.partner))}, .out = short_name};
    bool understood = s.scan.partner && scan_pair_brackets(&s.scan), ended = false;
    while (understood && s.at < length && !ended)
        ended = !step(&s);
    free(s.scan.partner);
    while (s.length > 0 && short_name[s.length - 1] == ' ')
        s.length--;
    if (!ended || s.length == 0) {
        memcpy(short_name, name, length);
        s.length = length;
    }
    short_name[s.length] = '\0';
    return s.length;
}

bool name_form(struct buffer *out, unsigned number, const char *name, size_t length)
{
    char *short_name = number == 1 ? malloc(length + 1) : NULL;
    if (number == 0)
        pretty_name_write(out, name, length, 0, NULL);
    else if (short_name)
        buffer_bytes(out, short_name, name_shorten(name, length, short_name));
    free(short_name);
    return number < 2;
}
