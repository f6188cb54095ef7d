/* Chooses width, colours and symbols by the terminal, the locale and the options. */
#include "cli/report_style.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

const struct option_choice report_units[] = {{"auto", REPORT_UNIT_AUTO}, {"ns", REPORT_UNIT_NS}, {"us", REPORT_UNIT_US},
                                             {"ms", REPORT_UNIT_MS},     {"s", REPORT_UNIT_S},   {NULL, 0}};
const struct option_choice report_colours[] = {
    {"auto", COLOUR_AUTO}, {"always", COLOUR_ALWAYS}, {"never", COLOUR_NEVER}, {NULL, 0}};
const struct option_choice report_name_forms[] = {{"pretty", REPORT_NAMES_PRETTY},
                                                  {"full", REPORT_NAMES_FULL},
                                                  {"short", REPORT_NAMES_SHORT},
                                                  {"mangled", REPORT_NAMES_MANGLED},
                                                  {NULL, 0}};

#define WIDTH_IN_FILES 120

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
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

static void choose(struct report_options *report, const struct report_style *style)
{
    bool for_people = report->format == REPORT_TABLE || report->format == REPORT_MARKDOWN;
    if (for_people && report->has_snapshot && report->sections == 0)
        report->sections = REPORT_BIT(REPORT_MEMORY);
    report->usual = for_people && report->sections == 0;
    if (!for_people && report->columns && strcmp(report->columns, "all") == 0)
        report->columns = NULL; /* programs get all columns, also those that are empty */
    report->names = style->names >= 0 ? (enum report_names)style->names
                    : for_people      ? REPORT_NAMES_PRETTY
                                      : REPORT_NAMES_FULL;
    report->top = style->top >= 0 ? (size_t)style->top : for_people ? REPORT_TOP_OWN : 0;
}

void report_style_set(struct report_options *report, int fd, const struct report_style *style)
{
    struct winsize size;
    const char *kind = getenv("TERM");
    bool terminal = isatty(fd), sized = terminal && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    bool shows_colour = terminal && !is_set("NO_COLOR") && !(kind && strcmp(kind, "dumb") == 0);
    report->width = style->width >= 0 ? (size_t)style->width : sized ? size.ws_col : WIDTH_IN_FILES;
    report->colour = style->colour == COLOUR_AUTO ? shows_colour : style->colour == COLOUR_ALWAYS;
    report->bars = report->colour || terminal;
    report->ascii = wants_ascii();
    choose(report, style);
}
