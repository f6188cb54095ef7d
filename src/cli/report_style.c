#include "cli/report_style.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const struct option_choice report_units[] = {{"auto", REPORT_UNIT_AUTO}, {"ns", REPORT_UNIT_NS}, {"us", REPORT_UNIT_US},
                                             {"ms", REPORT_UNIT_MS},     {"s", REPORT_UNIT_S},   {NULL, 0}};

#define WIDTH_IN_FILES 120

static size_t width_of(int fd)
{
    struct winsize size;
    if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        return WIDTH_IN_FILES;
    return size.ws_col;
}

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

static bool wants_colour(int fd, enum colour colour)
{
    const char *terminal = getenv("TERM");
    if (colour != COLOUR_AUTO)
        return colour == COLOUR_ALWAYS;
    return isatty(fd) && !is_set("NO_COLOR") && !(terminal && strcmp(terminal, "dumb") == 0);
}

/* Whether the locale says that what shows the report knows no UTF-8. */
static bool wants_ascii(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
        if (is_set(variables[i]))
            return !strcasestr(getenv(variables[i]), "UTF-8") && !strcasestr(getenv(variables[i]), "utf8");
    return false;
}

void report_style_set(struct report_options *report, int fd, enum colour colour)
{
    report->width = width_of(fd);
    report->colour = wants_colour(fd, colour);
    report->bars = report->colour || isatty(fd);
    report->ascii = wants_ascii();
}

void report_style_choose(struct report_options *report)
{
    bool for_people = report->format == REPORT_TABLE || report->format == REPORT_MARKDOWN;
    report->names = for_people ? REPORT_NAMES_PRETTY : REPORT_NAMES_FULL;
    report->usual = for_people && report->sections == 0;
    report->top = for_people ? REPORT_TOP_OWN : 0;
}
