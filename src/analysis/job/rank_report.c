/*
 * Reads the blocks of a file, which may be damaged or forged: every number is checked before it is used.
 */
#include "analysis/job/rank_report.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/memory.h"
#include "analysis/engine/findings.h"
#include "analysis/ranks/ranks_of_trace.h"

bool rank_report_is(const char *path)
{
    char magic[RANK_REPORT_MAGIC_BYTES];
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) /* not a pipe, which could be read only once */
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    bool is = file >= 0 && file_read_at(file, magic, sizeof(magic), 0) && memcmp(magic, RANK_REPORT_MAGIC, 14) == 0;
    if (file >= 0)
        close(file);
    return is;
}

uint64_t rank_report_sections(void)
{
    uint64_t sections = 0;
    for (unsigned i = 0; i < REPORT_SECTION_COUNT; i++)
        if (section_list[i].section->comparable.noun && i != REPORT_FINDINGS)
            sections |= REPORT_BIT(i);
    return sections;
}

void rank_report_release(struct rank_report *report)
{
    ranks_release(&report->ranks);
    array_release(&report->rows);
    array_release(&report->findings);
    array_release(&report->members);
}

/* --- checks --- */

enum check { TEXT, KNOWN_TEXT, TIME, LENGTH, NUMBER };

/* Returns whether NUMBER is in the range of its kind. A number may be absent, except KNOWN_TEXT and LENGTH. The limits
 * keep differences of two times, and sums of 8192 lengths, from overflowing. */
static bool is_good(const struct rank_report *report, enum check check, int64_t number)
{
    bool absent = number == (check == TEXT ? (int64_t)EVENT_NO_TEXT : FIELD_ABSENT);
    int64_t limit = check == TIME     ? EVENT_TIME_LIMIT
                    : check == LENGTH ? EVENT_TIME_LIMIT / 4096
                    : check == NUMBER ? EVENT_NUMBER_LIMIT
                                      : (int64_t)report->ranks.texts.count;
    return (absent && check != KNOWN_TEXT && check != LENGTH) || (number > -limit && number < limit);
}

/* Checks several numbers of one kind. */
#define ALL_GOOD(report, check, ...) \
    are_good(report, check, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static bool are_good(const struct rank_report *report, enum check check, const int64_t *numbers, size_t count)
{
    bool good = true;
    for (size_t i = 0; i < count; i++)
        good &= is_good(report, check, numbers[i]);
    return good;
}

static bool is_rank(const struct rank_report *report, const struct rank *rank)
{
    /* Who waited for whom is computed later from all reports, so these fields must be 0. */
    bool waits = rank->compared || rank->waited || rank->delayed || rank->late || rank->late_operations || rank->worst;
    bool good = !waits && rank->rank >= 0 && is_good(report, NUMBER, rank->rank) &&
                ALL_GOOD(report, TEXT, rank->host, rank->between) && ALL_GOOD(report, TIME, rank->start, rank->end) &&
                ALL_GOOD(report, LENGTH, rank->steps, rank->step_total, rank->compute, rank->communication,
                         rank->exposed, rank->copies, rank->idle, rank->loading, rank->neighbours);
    for (unsigned i = 0; i < IDLE_CAUSE_COUNT && good; i++)
        good = is_good(report, LENGTH, rank->causes[i]) && is_good(report, TEXT, rank->mostly[i]);
    return good;
}

static bool is_report(const struct rank_report *report)
{
    const struct ranks *ranks = &report->ranks;
    const struct rank_report_info *info = &report->info;
    bool good = ALL_GOOD(report, KNOWN_TEXT, info->path, info->filter, info->missing) &&
                ALL_GOOD(report, TIME, info->start, info->end, info->base) && is_good(report, LENGTH, info->run) &&
                ranks->items.count > 0;
    for (size_t i = 0; i < ranks->items.count && good; i++)
        good = is_rank(report, &ranks->items.items[i]);
    for (size_t i = 0; i < ranks->names.count && good; i++) {
        const struct rank_name *name = &ranks->names.items[i];
        good = name->rank < ranks->items.count && is_good(report, KNOWN_TEXT, name->name) && name->count > 0 &&
               ALL_GOOD(report, LENGTH, name->total, name->count);
    }
    for (size_t i = 0; i < ranks->steps.count && good; i++) {
        const struct rank_step *step = &ranks->steps.items[i];
        good = rank_step_is_good(step, ranks->items.count) && ALL_GOOD(report, TIME, step->from, step->to) &&
               ALL_GOOD(report, LENGTH, step->total, step->gpu) && step->communication == 0 && step->waited == 0 &&
               are_good(report, LENGTH, step->idle, RANK_STEP_CAUSE_COUNT);
    }
    for (size_t i = 0; i < report->rows.count && good; i++) {
        const struct rank_report_row *row = &report->rows.items[i];
        good = row->section < REPORT_SECTION_COUNT && is_good(report, KNOWN_TEXT, row->name) &&
               fabs(row->total) < (double)EVENT_TIME_LIMIT &&
               fabs(row->count) < (double)EVENT_TIME_LIMIT; /* sums do not overflow */
    }
    for (size_t i = 0; i < report->members.count && good; i++) {
        const struct hang_member *member = &report->members.items[i];
        const uint32_t *const texts[] = HANG_MEMBER_TEXTS(member);
        const int64_t *const times[] = HANG_MEMBER_TIMES(member);
        good = member->rank >= 0 && is_good(report, NUMBER, member->rank);
        for (size_t k = 0; k < sizeof(texts) / sizeof(*texts); k++)
            good &= is_good(report, TEXT, *texts[k]);
        for (size_t k = 0; k < sizeof(times) / sizeof(*times); k++)
            good &= is_good(report, TIME, *times[k]);
    }
    for (size_t i = 0; i < report->findings.count && good; i++) {
        const struct rank_report_finding *finding = &report->findings.items[i];
        good = finding->rule < FINDING_RULE_COUNT &&
               ALL_GOOD(report, KNOWN_TEXT, finding->text, finding->advice, finding->where) &&
               (finding->rank == RANK_NONE || finding->rank < ranks->items.count) &&
               ALL_GOOD(report, LENGTH, finding->cost, finding->gain);
    }
    return good;
}

static bool is_collective(const struct rank_report *report, const struct collective *one)
{
    return ALL_GOOD(report, TEXT, one->communicator, one->group_ranks, one->name, one->dtype) &&
           one->kind < COLLECTIVE_KIND_COUNT &&
           ALL_GOOD(report, TIME, one->called, one->returned, one->start, one->exposed) &&
           (one->start == FIELD_ABSENT || (one->duration >= 0 && is_good(report, LENGTH, one->duration) &&
                                           is_good(report, TIME, one->start + one->duration))) &&
           ALL_GOOD(report, NUMBER, one->rank, one->group_rank, one->group_size, one->sequence, one->bytes,
                    one->peer) &&
           (one->process == RANK_NONE || one->process < report->ranks.items.count);
}

/* --- reading --- */

static int error_damaged(const char *name)
{
    return error("'%s' is damaged, or another version of gputrace wrote it: make it again with report --partial", name);
}

/* Reads the records of the block with HEAD at OFFSET into a new array *ITEMS, and frees the old one. Returns 0, or -1
 * after error(). */
static int read_records(const char *name, int file, uint64_t offset, const struct rank_report_head *head, void **items,
                        size_t *count, size_t *capacity)
{
    size_t bytes = (size_t)head->count * head->record;
    void *read = malloc(bytes + 1);
    if (!read)
        return error_no_memory("a part of a job");
    free(*items);
    *items = read;
    *count = *capacity = (size_t)head->count;
    return file_read_at(file, read, bytes, offset) ? 0 : error("cannot read '%s': %s", name, strerror(errno));
}

#define READ_ARRAY(array) \
    read_records(name, report->file, offset, head, (void **)&(array)->items, &(array)->count, &(array)->capacity)

/* Interns the texts in their order in the file, so that they get their old numbers. A text that comes twice is
 * damage. */
static int read_texts(struct rank_report *report, const char *name, uint64_t offset,
                      const struct rank_report_head *head)
{
    ARRAY(char) bytes = {0};
    int status = READ_ARRAY(&bytes);
    for (size_t at = 0, number = 0; at < bytes.count && status == 0; number++) {
        size_t length = strnlen(bytes.items + at, bytes.count - at);
        uint32_t given = at + length < bytes.count ? intern(&report->ranks.texts, bytes.items + at, length) : 0;
        if (given == INTERN_NO_MEMORY)
            status = error_no_memory("a part of a job");
        else if (given != number || at + length == bytes.count)
            status = error_damaged(name);
        at += length + 1;
    }
    array_release(&bytes);
    return status;
}

static int read_block(struct rank_report *report, const char *name, uint64_t offset,
                      const struct rank_report_head *head)
{
    switch ((enum rank_report_block)head->block) {
    case RANK_REPORT_INFO:
        if (head->count != 1 || !file_read_at(report->file, &report->info, sizeof(report->info), offset))
            return error_damaged(name);
        return 0;
    case RANK_REPORT_RANKS: return READ_ARRAY(&report->ranks.items);
    case RANK_REPORT_NAMES: return READ_ARRAY(&report->ranks.names);
    case RANK_REPORT_STEPS: return READ_ARRAY(&report->ranks.steps);
    case RANK_REPORT_ROWS: return READ_ARRAY(&report->rows);
    case RANK_REPORT_FINDINGS: return READ_ARRAY(&report->findings);
    case RANK_REPORT_MEMBERS: return READ_ARRAY(&report->members);
    case RANK_REPORT_COLLECTIVES:
        report->collectives_offset = offset;
        report->collectives_count = head->count;
        return 0;
    case RANK_REPORT_TEXTS: return read_texts(report, name, offset, head);
    case RANK_REPORT_BLOCK_COUNT: break;
    }
    return error_damaged(name);
}

int rank_report_read(struct rank_report *report, int file, const char *name)
{
    static const size_t records[] = {
#define BLOCK(constant, type) sizeof(type),
        RANK_REPORT_BLOCKS(BLOCK)
#undef BLOCK
    };
    char magic[RANK_REPORT_MAGIC_BYTES];
    struct stat status;
    unsigned seen = 0;
    *report = (struct rank_report){.file = file};
    if (fstat(file, &status) != 0 || !file_read_at(file, magic, sizeof(magic), 0) ||
        memcmp(magic, RANK_REPORT_MAGIC, sizeof(magic)) != 0)
        return error_damaged(name);
    uint64_t size = (uint64_t)status.st_size;
    for (uint64_t at = sizeof(magic); at < size;) {
        struct rank_report_head head;
        if (size - at < sizeof(head) || !file_read_at(file, &head, sizeof(head), at))
            return error_damaged(name);
        at += sizeof(head);
        if (head.block >= RANK_REPORT_BLOCK_COUNT || head.record != records[head.block] || seen >> head.block & 1 ||
            head.count > (size - at) / head.record)
            return error_damaged(name);
        seen |= 1u << head.block;
        if (read_block(report, name, at, &head) < 0)
            return -1;
        at += head.count * head.record;
    }
    return seen == (1u << RANK_REPORT_BLOCK_COUNT) - 1 && is_report(report) ? 0 : error_damaged(name);
}

#define AT_ONCE 1024 /* records read at once */

int rank_report_collectives(const struct rank_report *report, const char *name,
                            int (*each)(void *context, struct collective *one), void *context)
{
    struct collective *some = malloc(AT_ONCE * sizeof(*some));
    int status = some ? 0 : error_no_memory("a part of a job");
    for (uint64_t at = 0; at < report->collectives_count && status == 0; at += AT_ONCE) {
        uint64_t left = report->collectives_count - at;
        size_t count = left < AT_ONCE ? (size_t)left : AT_ONCE;
        if (!file_read_at(report->file, some, count * sizeof(*some), report->collectives_offset + at * sizeof(*some)))
            status = error("cannot read '%s': %s", name, strerror(errno));
        for (size_t i = 0; i < count && status == 0; i++)
            status = is_collective(report, &some[i]) ? each(context, &some[i]) : error_damaged(name);
    }
    free(some);
    return status;
}
