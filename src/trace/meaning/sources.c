/*
 * Finds the format of a file from its first bytes and reads it with the reader for that format. Errors name files that
 * people give by mistake, such as a report of Nsight Systems.
 */
#include "trace/meaning/sources.h"

#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/text.h"
#include "trace/cut.h"
#include "trace/fields_receiver.h"
#include "trace/output.h"
#include "trace/gzip/gzip.h"
#include "trace/meaning/passes/passes.h"
#include "trace/pftrace/reader.h"
#include "trace/json/reader.h"
#include "trace/spool/spool_directory.h"

#define BEGIN_BYTES 16

/* Returns the offset of the first byte that is not white space. */
static size_t begin_of(const char *bytes, size_t length)
{
    size_t at = 0;
    while (at < length && strchr(" \n\r\t", bytes[at]) && bytes[at])
        at++;
    return at;
}

bool sources_is_pftrace(const char *path)
{
    char bytes[BEGIN_BYTES];
    size_t length = peek(path, bytes, sizeof(bytes)), at = begin_of(bytes, length);
    bool json = at == length || bytes[at] == '{' || bytes[at] == '['; /* white space may stand before it */
    return !json && pftrace_begins(bytes, length);
}

bool sources_is_trace(const char *path)
{
    static const char mark[] = "\xef\xbb\xbf"; /* the byte order mark of UTF-8 */
    char bytes[BEGIN_BYTES];
    size_t length = peek(path, bytes, sizeof(bytes)), skipped = strlen(mark);
    if (length < skipped || memcmp(bytes, mark, skipped) != 0)
        skipped = 0;
    size_t at = skipped + begin_of(bytes + skipped, length - skipped);
    return at == sizeof(bytes) /* JSON may follow */ || (at < length && (bytes[at] == '{' || bytes[at] == '[')) ||
           sources_is_pftrace(path);
}

#define SEEN_BYTES ((size_t)64 << 10)
#define WORD_MOST 32

/* Whether the file has a key of traces. It may stand behind a long head, so the whole file is read if need be. */
static bool has_word_of_trace(const char *path)
{
    static const char *const words[] = {"\"traceEvents\"", "\"schemaVersion\"", "\"deviceProperties\"",
                                        "\"displayTimeUnit\"", "\"ph\""};
    struct source source;
    struct source_failure failure = {0};
    size_t kept = 0, length = 1; /* kept: bytes of the last block's end, in which a word may begin */
    char *bytes = malloc(WORD_MOST + SEEN_BYTES);
    bool has = false, opened = bytes && source_open(&source, path) == 0;
    while (opened && !has && length > 0 && !failure.failed) {
        length = source_read(&source, bytes + kept, SEEN_BYTES, &failure);
        for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
            has |= memmem(bytes, kept + length, words[i], strlen(words[i])) != NULL;
        size_t end = kept + length;
        kept = end < WORD_MOST ? end : WORD_MOST;
        memmove(bytes, bytes + end - kept, kept);
    }
    if (opened)
        source_close(&source);
    free(bytes);
    return has;
}

bool sources_seems_trace(const char *path)
{
    return sources_is_pftrace(path) || (sources_is_trace(path) && has_word_of_trace(path));
}

#define DEFLATE_MOST 1032 /* bytes that one byte of deflate can unpack to */
#define COUNTED_BYTES ((size_t)1 << 20)

static uint64_t count_unpacked(const char *path, uint64_t packed, uint64_t most)
{
    struct source source;
    struct source_failure failure = {0};
    uint64_t count = 0, passed;
    size_t length = 1;
    char *bytes = malloc(COUNTED_BYTES);
    if (!bytes || source_open(&source, path) != 0) {
        free(bytes);
        return 0;
    }
    while (length > 0 && !failure.failed && count <= most)
        count += length = source_read(&source, bytes, COUNTED_BYTES, &failure);
    passed = source_packed(&source);
    source_close(&source);
    free(bytes);
    if (count <= most || passed == 0 || passed >= packed)
        return count;
    return (uint64_t)((double)count * (double)packed / (double)passed);
}

uint64_t sources_unpacked_size(const char *path, uint64_t most)
{
    struct stat facts;
    if (stat(path, &facts) != 0 || facts.st_size < 0)
        return 0;
    uint64_t size = (uint64_t)facts.st_size;
    unsigned char begin[2] = {0};
    int fd = size > most / DEFLATE_MOST ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0)
        return size;
    bool is_gzip = read(fd, begin, sizeof(begin)) == sizeof(begin) && begin[0] == 0x1f && begin[1] == 0x8b;
    close(fd);
    return is_gzip ? count_unpacked(path, size, most) : size;
}

/* Files that people give to a reader of traces by mistake. The first row that fits counts: by the end of the name, by
 * the bytes at OFFSET, and by a word in the first SEEN_BYTES. NULL fits everything. */
static const struct foreign_file {
    const char *ending, *magic;
    size_t offset;
    const char *word, *what, *way;
} foreign_files[] = {
    {".nsys-rep", NULL, 0, NULL, "a report of Nsight Systems", "open it with nsys-ui"},
    {".qdrep", NULL, 0, NULL, "a report of Nsight Systems", "open it with nsys-ui"},
    {".qdstrm", NULL, 0, NULL, "a recording of Nsight Systems", "open it with nsys-ui"},
    {".ncu-rep", NULL, 0, NULL, "a report of Nsight Compute", "open it with ncu-ui"},
    {".xplane.pb", NULL, 0, NULL, "a profile of TensorFlow or JAX", "read the .trace.json.gz that lies beside it"},
    {".pb", NULL, 0, NULL, "a profile of TensorFlow", "read the .trace.json.gz that lies beside it"},
    {NULL, "SQLite format 3", 0, "CUPTI_ACTIVITY_KIND", "a database of Nsight Systems", "query it with sqlite3"},
    {NULL, "SQLite format 3", 0, "rocpd", "a database of rocprofv3",
     "let rocprofv3 write a trace, with --output-format pftrace"},
    {NULL, "SQLite format 3", 0, NULL, "a database for SQL",
     "query it with sqlite3, and give the trace that it was made of"},
    {NULL, "ustar", 257, NULL, "an archive", "unpack it with tar"},
    {NULL, "PK\3\4", 0, NULL, "an archive", "unpack it with unzip"},
    {NULL, "\x28\xb5\x2f\xfd", 0, NULL, "packed with zstd", "unpack it with zstd -d"},
    {NULL,
     "\xfd"
     "7zXZ",
     0, NULL, "packed with xz", "unpack it with xz -d"},
    {NULL, "BZh", 0, NULL, "packed with bzip2", "unpack it with bzip2 -d"},
    {NULL, "\x80\x04", 0, NULL, "a pickle of Python", "let the program write its trace as JSON"},
    {NULL, "version https://git-lfs", 0, NULL, "a pointer of Git LFS", "fetch the file with git lfs pull"},
    {NULL, "\xff\xfe", 0, NULL, "a text in UTF-16", "make UTF-8 of it with iconv -f UTF-16 -t UTF-8"},
    {NULL, "\xfe\xff", 0, NULL, "a text in UTF-16", "make UTF-8 of it with iconv -f UTF-16 -t UTF-8"},
    {NULL, "<!doctype html", 0, NULL, "a page", "open it in a browser"},
};

static bool is_of(const struct foreign_file *file, const char *path, const char *bytes, size_t length)
{
    size_t size = file->magic ? strlen(file->magic) : 0;
    bool begins =
        !file->magic || (length >= file->offset + size && strncasecmp(bytes + file->offset, file->magic, size) == 0);
    return begins && (!file->ending || text_ends_with(path, file->ending)) &&
           (!file->word || memmem(bytes, length, file->word, strlen(file->word)));
}

int sources_check(const char *path)
{
    char *bytes = malloc(SEEN_BYTES);
    size_t length = bytes ? peek(path, bytes, SEEN_BYTES) : 0;
    const struct foreign_file *file = foreign_files, *end = file + sizeof(foreign_files) / sizeof(*foreign_files);
    bool trace = length > 0 && (*bytes == '{' || *bytes == '[');
    while (file < end && (trace || length == 0 || !is_of(file, path, bytes, length)))
        file++;
    free(bytes);
    return file == end
               ? 0
               : error("'%s' is %s: traces are .json and .pftrace, plain or gzip; %s", path, file->what, file->way);
}

int sources_read(const char *path, struct sink *sink, const struct sources_options *options)
{
    if (sources_check(path) != 0)
        return -1;
    if (spool_directory_is(path)) {
        const struct convert_options wanted = {.spool_directory = path,
                                               .sink = sink,
                                               .output = path,
                                               .namer = options->namer,
                                               .workers = options->workers};
        struct convert_summary summary;
        if (convert_spool(&wanted, &summary) != 0)
            return -1;
        convert_plugins_release(&summary.plugins);
        return 0;
    }
    return sources_is_pftrace(path) ? pftrace_read(path, sink, options->workers)
                                    : json_read(path, sink, options->workers);
}

int sources_read_fields(const char *path, struct interner *strings, const struct fields_receiver *receiver,
                        const struct sources_options *options)
{
    struct sink *sink = fields_sink_new(strings, receiver);
    int status = sink ? sources_read(path, sink, options) : -1;
    fields_sink_free(sink);
    return status;
}

/* Returns 0, or -1 after error(). */
static int check_readable_twice(const char *path)
{
    struct stat facts;
    bool there = stat(path, &facts) == 0;
    if (there ? !S_ISREG(facts.st_mode) : strcmp(path, "-") == 0)
        return error("cannot convert '%s': it is read twice, so it must be a file, not a pipe or a device", path);
    return 0;
}

/* Writes the trace INPUT to PATH: all of it, or, unless CUT is NULL, what CUT passes on. */
static int write_trace(const char *input, const char *path, struct cut *cut, struct convert_summary *summary)
{
    struct output output;
    struct sink sink;
    if (output_open(&output, path) != 0)
        return -1;
    output_sink(&output, &sink, file_format_of(path)->sink);
    int result = sources_read(input, cut ? cut_writer(cut, &sink) : &sink, &(struct sources_options){0});
    if (result == 0 && cut)
        result = cut_written(cut);
    sink_release(&sink);
    *summary = (struct convert_summary){.events = sink.events};
    if (result == 0)
        return output_commit(&output, &summary->bytes);
    output_discard(&output);
    return -1;
}

int convert_file(const char *input, const char *path, struct convert_summary *summary)
{
    return check_readable_twice(input) != 0 ? -1 : write_trace(input, path, NULL, summary);
}

int convert_part(const char *input, const char *path, const struct filter_options *part, const struct windows *times,
                 struct filter_missed *missed, struct convert_summary *summary)
{
    struct cut *cut = check_readable_twice(input) == 0 ? cut_new(part, times, input) : NULL;
    enum log_level level = log_level();
    log_set_level(LOG_QUIET); /* the second reading prints the warnings */
    int result = cut ? sources_read(input, cut_scanner(cut), &(struct sources_options){0}) : -1;
    log_set_level(level);
    if (result == 0)
        result = cut_scanned(cut, missed);
    if (result == 0)
        result = write_trace(input, path, cut, summary);
    cut_free(cut);
    return result;
}

/* --- messages of single threads --- */

static _Thread_local struct buffer *held;
static _Thread_local bool errors_only;

/* The process's receiver of messages. */
static bool receive_message(enum log_level level, const char *line, size_t length)
{
    bool dropped = errors_only && level > LOG_QUIET;
    if (held && !dropped)
        buffer_bytes(held, line, length);
    return held || dropped;
}

void messages_hold(struct buffer *text)
{
    held = text;
    log_set_receiver(receive_message);
}

bool messages_quiet(bool quiet)
{
    bool was = errors_only;
    errors_only = quiet;
    log_set_receiver(receive_message);
    return was;
}
