/* Shortens names in one pass over the brackets that name_scan.h paired. */
#include "analysis/engine/names.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/engine/trace.h"
#include "analysis/names/name_scan.h"
#include "analysis/names/pretty_name.h"
#include "common/buffer.h"

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

/* --- --names --- */

static uint32_t shorten(struct trace *trace, uint32_t name)
{
    const char *whole = interned(&trace->strings, name);
    size_t length = strlen(whole);
    char *short_name = malloc(length + 1);
    if (!short_name)
        return INTERN_NO_MEMORY;
    uint32_t number = intern(&trace->strings, short_name, name_shorten(whole, length, short_name));
    free(short_name);
    return number;
}

int name_change(struct trace *trace, struct event_fields *event)
{
    enum report_names names = trace->options->names;
    if (names == REPORT_NAMES_MANGLED && event_kernel(event)->mangled_name != EVENT_NO_TEXT)
        event->name = event_kernel(event)->mangled_name;
    else if (names == REPORT_NAMES_MANGLED && event->name < trace->shown_names.count &&
             trace->shown_names.items[event->name] != 0)
        event->name = trace->shown_names.items[event->name] - 1;
    if (names != REPORT_NAMES_SHORT || event->name == EVENT_NO_TEXT)
        return 0;
    uint32_t *shown = array_at(&trace->shown_names, event->name);
    if (!shown)
        return -1;
    if (*shown == 0) {
        uint32_t number = shorten(trace, event->name);
        if (number == INTERN_NO_MEMORY)
            return -1;
        *shown = number + 1;
    }
    event->name = *shown - 1;
    return 0;
}

bool name_is_data_loader(const char *name)
{
    return strstr(name, "__next__") && (strstr(name, "DataLoader") || strstr(name, "(dataloader.py"));
}

bool name_is_compiling(const char *name)
{
    return strncmp(name, "Xla", 3) == 0 && strncmp(name, "XlaModule:", 10) != 0;
}
