/*
 * Spools are read through the traces that are written of them, because a trace is read twice, and what spools hold is
 * known only after three passes over them.
 */
#include "cli/merge_inputs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/progress.h"
#include "cli/trace_folder.h"
#include "common/log.h"
#include "common/memory.h"
#include "symbols/symbols.h"
#include "trace/build/passes.h"
#include "trace/build/sources.h"
#include "trace/spool/spool_directory.h"

/* --- temporary traces: DIRECTORY/NUMBER.pftrace; a signal's handler knows them by these --- */

static char temporary[PATH_MAX]; /* the directory; "": there is none */
static volatile unsigned temporary_count;

/* As snprintf() would write it, which a signal's handler may not call. */
static void name_temporary(char *name, unsigned number)
{
    char digits[16], *at = digits + sizeof(digits);
    size_t length = strlen(temporary);
    *--at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    memcpy(name, temporary, length);
    name[length] = '/';
    strcpy(strcpy(name + length + 1, at) + strlen(at), ".pftrace");
}

static void remove_temporary(void)
{
    char name[PATH_MAX + 32];
    if (!*temporary)
        return;
    for (unsigned i = 0; i < temporary_count; i++) {
        name_temporary(name, i);
        unlink(name);
    }
    rmdir(temporary);
}

static int make_temporary(void)
{
    if (*temporary)
        return 0;
    int length = snprintf(temporary, sizeof(temporary), "%s/gputrace-merge-XXXXXX", temporary_directory());
    if (length < 0 || (size_t)length >= sizeof(temporary) - 1 || !mkdtemp(temporary)) {
        *temporary = '\0';
        return error("cannot make a directory in '%s': %m", temporary_directory());
    }
    clean_when_asked(remove_temporary);
    return 0;
}

/* --- */

static int add_file(struct merge_inputs *inputs, const char *path, const char *name)
{
    struct merge_input *input = array_push(&inputs->items);
    if (!input)
        return error_no_memory("the traces");
    input->path = strdup(path);
    input->name = strdup(name);
    return input->path && input->name ? 0 : error_no_memory("the traces");
}

/* The trace of the spools in the directory PATH. */
static int add_spools(struct merge_inputs *inputs, const char *path)
{
    char name[PATH_MAX + 32];
    if (make_temporary() != 0)
        return -1;
    name_temporary(name, temporary_count++);
    struct symbols *symbols = symbols_new(0); /* NULL: stacks stay addresses */
    struct frame_namer namer = symbols_namer(symbols);
    const struct convert_options options = {.spool_directory = path, .output = name, .namer = symbols ? &namer : NULL};
    struct convert_summary summary;
    int result = convert_spool(&options, &summary);
    if (result == 0)
        convert_plugins_release(&summary.plugins);
    symbols_free(symbols);
    return result == 0 ? add_file(inputs, name, path) : -1;
}

static bool is_same_file(const struct stat *status, const char *other)
{
    struct stat second;
    return stat(other, &second) == 0 && status->st_dev == second.st_dev && status->st_ino == second.st_ino;
}

static int add_entry(void *context, const char *path, bool spools)
{
    return spools ? add_spools(context, path) : add_file(context, path, path);
}

int merge_inputs_add(struct merge_inputs *inputs, const char *path, const char *output)
{
    struct stat status;
    if (strcmp(path, "-") == 0)
        return error("'merge' reads each trace twice, so it must be a file, not standard input");
    if (stat(path, &status) != 0)
        return error("cannot open '%s': %m", path);
    if (S_ISDIR(status.st_mode))
        return spool_directory_is(path) ? add_spools(inputs, path)
                                        : trace_folder_each(path, output, false, add_entry, inputs);
    if (!S_ISREG(status.st_mode))
        return error("cannot merge '%s': it is read twice, so it must be a file, not a pipe or a device", path);
    if (is_same_file(&status, output))
        return error("'%s' and '%s' are the same file", path, output);
    return add_file(inputs, path, path);
}

/* --- */

struct identity {
    dev_t device;
    ino_t file;
    const char *name;
};

static int by_identity(const void *left, const void *right)
{
    const struct identity *a = left, *b = right;
    if (a->device != b->device)
        return a->device < b->device ? -1 : 1;
    return (a->file > b->file) - (a->file < b->file);
}

static int check_each(const struct merge_inputs *inputs, struct identity *known)
{
    int result = 0;
    for (size_t i = 0; i < inputs->items.count; i++) {
        const struct merge_input *input = &inputs->items.items[i];
        struct stat status;
        if (stat(input->path, &status) != 0)
            return error("cannot open '%s': %m", input->name);
        if (access(input->path, R_OK) != 0)
            result = error("cannot open '%s': %m", input->name);
        else if (sources_check(input->path) != 0)
            result = -1;
        else if (!sources_is_trace(input->path))
            result = error("'%s' is not a trace", input->name);
        known[i] = (struct identity){status.st_dev, status.st_ino, input->name};
    }
    return result;
}

int merge_inputs_check(const struct merge_inputs *inputs)
{
    size_t count = inputs->items.count;
    struct identity *known = calloc(count + 1, sizeof(*known));
    int result = known ? check_each(inputs, known) : error_no_memory("the traces");
    if (result == 0)
        qsort(known, count, sizeof(*known), by_identity);
    for (size_t i = 1; i < count && result == 0; i++)
        if (by_identity(&known[i - 1], &known[i]) == 0)
            result = error("'%s' and '%s' are the same file", known[i - 1].name, known[i].name);
    free(known);
    return result;
}

void merge_inputs_release(struct merge_inputs *inputs)
{
    clean_when_asked(NULL);
    remove_temporary();
    *temporary = '\0';
    for (size_t i = 0; i < inputs->items.count; i++) {
        free((char *)inputs->items.items[i].path);
        free((char *)inputs->items.items[i].name);
    }
    array_release(&inputs->items);
}
