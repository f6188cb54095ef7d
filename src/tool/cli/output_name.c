#include "tool/cli/output_name.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/sink.h"

static int put_variable(struct sink *sink, const char *pattern, const char **at)
{
    const char *name = *at + 1; /* after '{' */
    size_t length = **at == '{' ? strcspn(name, "}") : 0;
    char variable[256];
    if (length == 0 || name[length] != '}' || length >= sizeof(variable))
        return error("'%%q' in '-o %s' needs the name of a variable: %%q{RANK}", pattern);
    memcpy(variable, name, length);
    variable[length] = '\0';
    const char *value = getenv(variable);
    if (!value)
        return error("'%%q{%s}' in '-o %s': no such variable in the environment", variable, pattern);
    sink_text(sink, value);
    *at = name + length + 1;
    return 0;
}

static int put_host(struct sink *sink)
{
    char host[HOST_NAME_MAX + 1] = "";
    if (gethostname(host, sizeof(host) - 1) != 0)
        return error("cannot tell the name of this host: %s", strerror(errno));
    sink_text(sink, host);
    return 0;
}

/* Writes what the pattern at *AT (after '%') stands for, and moves *AT behind it. */
static int put_pattern(struct sink *sink, const char *pattern, const struct output_facts *facts, const char **at)
{
    switch (*(*at)++) {
    case 'p': sink_i64(sink, facts->pid); return 0;
    case 'n': sink_text(sink, facts->program); return 0;
    case 'h': return put_host(sink);
    case 'q': return put_variable(sink, pattern, at);
    case '%': sink_char(sink, '%'); return 0;
    default: return error("'-o %s' has a pattern that is none of %%p, %%h, %%n, %%q{VARIABLE} and %%%%", pattern);
    }
}

int output_name_expand(const char *pattern, const struct output_facts *facts, char *name, size_t room)
{
    struct sink sink;
    sink_init_memory(&sink);
    int result = 0;
    for (const char *at = pattern; result == 0 && *at;) {
        size_t plain = strcspn(at, "%");
        sink_bytes(&sink, at, plain);
        at += plain;
        if (*at) {
            at++;
            result = put_pattern(&sink, pattern, facts, &at);
        }
    }
    sink_char(&sink, '\0');
    if (result == 0 && sink_finish(&sink) != 0)
        result = error_no_memory("the name of the trace");
    else if (result == 0 && sink.length > room)
        result = error("'-o %s' gives a name that is too long", pattern);
    else if (result == 0 && sink.length == 1)
        result = error("'-o' needs the name of a file");
    else if (result == 0)
        memcpy(name, sink.data, sink.length);
    sink_release(&sink);
    return result;
}

int output_name_check(const char *pattern)
{
    char name[PATH_MAX];
    struct output_facts facts = {.pid = getpid(), .program = "program"};
    return output_name_expand(pattern, &facts, name, sizeof(name));
}

int output_name_writable(const char *name)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(name, '/');
    if (slash)
        snprintf(folder, sizeof(folder), "%.*s", slash == name ? 1 : (int)(slash - name), name);
    struct stat status;
    if (stat(folder, &status) != 0)
        return error("cannot write the trace '%s': '%s': %s", name, folder, strerror(errno));
    if (access(folder, W_OK | X_OK) != 0)
        return error("cannot write the trace '%s': '%s' takes no files: %s", name, folder, strerror(errno));
    if ((slash && !slash[1]) || (stat(name, &status) == 0 && !S_ISREG(status.st_mode)))
        return error("cannot write the trace '%s': a regular file is needed", name);
    return 0;
}

int output_name_keep_old(const char *name)
{
    char old[PATH_MAX];
    int length = snprintf(old, sizeof(old), "%s.old", name);
    if (access(name, F_OK) != 0)
        return 0;
    if (length < 0 || (size_t)length >= sizeof(old))
        return error("cannot keep '%s' as '%s.old': the name is too long", name, name);
    unlink(old);
    /* A second name: the trace will take the first one over when it is whole. */
    if (link(name, old) == 0 || rename(name, old) == 0)
        return 0;
    return error("cannot keep '%s' as '%s': %s", name, old, strerror(errno));
}
