/*
 * Each process sends a list of the traces in the directory to process 0, which shares them out: each file to the
 * process with the least bytes among those that see it. A process gets the names of its files, writes a rank report of
 * each and sends it. Process 0 stores the rank reports as files and makes the report from them in the order of names,
 * so that the report is the same as if all files were in one place.
 */
#include "analysis/job/job_mpi.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buffer.h"
#include "common/log.h"
#include "common/array.h"
#include "common/memory.h"
#include "analysis/job/rank_report.h"
#include "analysis/job/job_report.h"
#include "analysis/job/rank_report_write.h"
#include "analysis/report.h"
#include "trace/meaning/sources.h"

/* --- MPI: the own rank, and bytes between processes. MPI errors end all processes, which is MPI's default --- */

/* Values of MPICH's mpi.h, whose ABI Intel MPI and others share. */
#define MPICH_COMM_WORLD 0x44000000
#define MPICH_BYTE 0x4c00010d
#define MPICH_STATUS_IGNORE 1

#define TAG 583
#define MESSAGE ((uint64_t)16 << 20) /* bytes sent at once */

/* The MPI library of the launcher (mpirun, srun) that started the processes: Open MPI, or MPICH and others with its
 * ABI. */
struct mpi {
    void *library;
    int rank, size;
    /* Handles: addresses in Open MPI, numbers in MPICH. Both are passed in a register of their own. */
    uintptr_t world, byte, no_status;
    int (*send)(const void *bytes, int count, uintptr_t type, int to, int tag, uintptr_t world);
    int (*receive)(void *bytes, int count, uintptr_t type, int from, int tag, uintptr_t world, uintptr_t status);
    int (*finalize)(void);
};

/* Loads the launcher's library if it is there, because two MPIs do not work together. Returns NULL if there is none. */
static void *open_library(void)
{
    static const char *const open_mpi[] = {"libmpi.so.40", "libmpi.so.80", "libmpi.so", "libmpich.so.12", NULL};
    static const char *const mpich[] = {"libmpich.so.12", "libmpi.so.12", "libmpich.so", "libmpi.so.40", NULL};
    bool hydra = getenv("PMI_RANK") && !getenv("OMPI_COMM_WORLD_RANK");
    for (const char *const *name = hydra ? mpich : open_mpi; *name; name++) {
        void *library = dlopen(*name, RTLD_NOW | RTLD_GLOBAL);
        if (library)
            return library;
    }
    return NULL;
}

static int mpi_begin(struct mpi *mpi)
{
    /* Check before MPI_Init(), which sets some of these variables. */
    bool has_launcher = getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMI_SIZE") || getenv("PMIX_RANK");
    *mpi = (struct mpi){.library = open_library(), .size = 1};
    if (!mpi->library)
        return error("--mpi: there is no MPI here: neither libmpi.so.40 (Open MPI) nor libmpich.so.12 (MPICH) can be "
                     "loaded");
    int (*init)(int *, char ***) = (int (*)(int *, char ***))dlsym(mpi->library, "MPI_Init");
    int (*rank)(uintptr_t, int *) = (int (*)(uintptr_t, int *))dlsym(mpi->library, "MPI_Comm_rank");
    int (*size)(uintptr_t, int *) = (int (*)(uintptr_t, int *))dlsym(mpi->library, "MPI_Comm_size");
    *(void **)&mpi->send = dlsym(mpi->library, "MPI_Send");
    *(void **)&mpi->receive = dlsym(mpi->library, "MPI_Recv");
    *(void **)&mpi->finalize = dlsym(mpi->library, "MPI_Finalize");
    void *world = dlsym(mpi->library, "ompi_mpi_comm_world");
    mpi->world = world ? (uintptr_t)world : MPICH_COMM_WORLD;
    mpi->byte = world ? (uintptr_t)dlsym(mpi->library, "ompi_mpi_byte") : MPICH_BYTE;
    mpi->no_status = world ? 0 : MPICH_STATUS_IGNORE;
    if (!init || !rank || !size || !mpi->send || !mpi->receive || !mpi->finalize || !mpi->byte)
        return error("--mpi: the MPI library here has no MPI_Init, MPI_Send or MPI_Recv");
    if (init(NULL, NULL) != 0 || rank(mpi->world, &mpi->rank) != 0 || size(mpi->world, &mpi->size) != 0)
        return error("--mpi: MPI_Init failed");
    /* Without a PMI that srun and MPI share, each task of srun is an MPI program of its own. */
    const char *tasks = getenv("SLURM_STEP_NUM_TASKS");
    if (mpi->size > 1 || has_launcher || !tasks || atoi(tasks) <= 1)
        return 0;
    return error("--mpi: srun started %s tasks, and MPI knows of one: use srun --mpi=pmix for Open MPI, or --mpi=pmi2 "
                 "for MPICH",
                 tasks);
}

static void mpi_send(const struct mpi *mpi, int to, const void *bytes, uint64_t size)
{
    for (uint64_t at = 0; at < size; at += MESSAGE) {
        uint64_t length = size - at < MESSAGE ? size - at : MESSAGE;
        mpi->send((const char *)bytes + at, (int)length, mpi->byte, to, TAG, mpi->world);
    }
}

static void mpi_receive(const struct mpi *mpi, int from, void *bytes, uint64_t size)
{
    for (uint64_t at = 0; at < size; at += MESSAGE) {
        uint64_t length = size - at < MESSAGE ? size - at : MESSAGE;
        mpi->receive((char *)bytes + at, (int)length, mpi->byte, from, TAG, mpi->world, mpi->no_status);
    }
}

#define NAME 256
#define PATH 4096

struct mpi_file {
    char name[NAME];
    uint64_t inode, size, time;
    int process;   /* the process that reads it */
    bool left_out; /* JSON, but not a trace */
};

struct mpi_files { /* as an ARRAY */
    struct mpi_file *items;
    size_t count, capacity;
};

struct sharing {
    const struct report_options *options;
    const char *directory;
    struct mpi mpi;
    struct mpi_files files; /* process 0: of all processes; others: of this process */
    char reports[PATH];     /* process 0: the directory of rank reports */
    bool failed;
};

/* --- files of all nodes --- */

static bool is_trace(const char *name)
{
    static const char *const endings[] = {".json", ".json.gz", ".pftrace", ".pftrace.gz", ".gpr"};
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
        size_t size = strlen(endings[i]);
        if (length > size && length < NAME && strcmp(name + length - size, endings[i]) == 0 && !strchr(name, '\n'))
            return true;
    }
    return false;
}

static int list_own(struct sharing *sharing)
{
    DIR *directory = opendir(sharing->directory);
    struct mpi_file own = {.process = sharing->mpi.rank};
    if (!directory)
        return error("cannot open '%s': %s", sharing->directory, strerror(errno));
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct stat status;
        if (!is_trace(entry->d_name) || fstatat(dirfd(directory), entry->d_name, &status, 0) != 0 ||
            !S_ISREG(status.st_mode))
            continue;
        memcpy(own.name, entry->d_name, strlen(entry->d_name) + 1);
        own.inode = status.st_ino;
        own.size = (uint64_t)status.st_size;
        own.time = (uint64_t)status.st_mtim.tv_sec * 1000000000u + (uint64_t)status.st_mtim.tv_nsec;
        if (!ADD(array_push, &sharing->files, own)) {
            closedir(directory);
            return error_no_memory("a list of files");
        }
    }
    closedir(directory);
    return 0;
}

static int by_file(const void *left, const void *right)
{
    const struct mpi_file *a = left, *b = right;
    return strcmp(a->name, b->name) ?: ORDER(a->inode, b->inode) ?: ORDER(a->size, b->size) ?: ORDER(a->time, b->time);
}

static int by_file_and_process(const void *left, const void *right)
{
    const struct mpi_file *a = left, *b = right;
    return by_file(a, b) ?: ORDER(a->process, b->process);
}

/* Assigns each file to the process with the fewest bytes to read among those that see the file. */
static int share_out(struct sharing *sharing)
{
    struct mpi_files *files = &sharing->files;
    uint64_t *bytes = calloc((size_t)sharing->mpi.size, sizeof(*bytes));
    size_t kept = 0;
    if (!bytes)
        return error_no_memory("a list of files");
    if (files->count > 1)
        qsort(files->items, files->count, sizeof(*files->items), by_file_and_process);
    for (size_t i = 0, next; i < files->count; i = next) {
        size_t best = i;
        for (next = i; next < files->count && by_file(&files->items[i], &files->items[next]) == 0; next++)
            if (bytes[files->items[next].process] < bytes[files->items[best].process])
                best = next;
        bytes[files->items[best].process] += files->items[best].size + 1;
        files->items[kept++] = files->items[best];
    }
    files->count = kept;
    free(bytes);
    return 0;
}

/* --- exchange of lists --- */

static void send_files(const struct sharing *sharing, int to, int process)
{
    const struct mpi_files *files = &sharing->files;
    struct mpi_file *some = calloc(files->count + 1, sizeof(*some));
    size_t count = 0;
    for (size_t i = 0; some && i < files->count; i++)
        if (files->items[i].process == process)
            some[count++] = files->items[i];
    const uint64_t bytes = count * sizeof(*some);
    mpi_send(&sharing->mpi, to, &bytes, sizeof(bytes));
    mpi_send(&sharing->mpi, to, some, bytes);
    free(some);
}

static int receive_files(struct sharing *sharing, int from)
{
    uint64_t bytes = 0;
    mpi_receive(&sharing->mpi, from, &bytes, sizeof(bytes));
    struct mpi_file *files = malloc(bytes + 1);
    if (!files)
        return error_no_memory("a list of files");
    mpi_receive(&sharing->mpi, from, files, bytes);
    int status = 0;
    for (size_t i = 0; i < bytes / sizeof(*files) && status == 0; i++)
        status = ADD(array_push, &sharing->files, files[i]) ? 0 : error_no_memory("a list of files");
    free(files);
    return status;
}

/* Sends each process the list of files that it reads. Process 0 keeps the list of all files. */
static void share(struct sharing *sharing)
{
    sharing->failed |= list_own(sharing) < 0;
    if (sharing->mpi.rank > 0) {
        send_files(sharing, 0, sharing->mpi.rank);
        sharing->files.count = 0;
        sharing->failed |= receive_files(sharing, 0) < 0;
        return;
    }
    for (int i = 1; i < sharing->mpi.size; i++)
        sharing->failed |= receive_files(sharing, i) < 0;
    sharing->failed |= share_out(sharing) < 0;
    for (int i = 1; i < sharing->mpi.size; i++)
        send_files(sharing, i, i);
}

/* --- rank reports --- */

#define LEFT_OUT (-2)

/* Opens FILE if it is a rank report; otherwise writes the rank report of this trace. Returns a descriptor, -1 after
 * error(), or LEFT_OUT if FILE is JSON but not a trace. */
static int open_report(const struct sharing *sharing, const struct mpi_file *file)
{
    char path[PATH];
    snprintf(path, sizeof(path), "%s/%s", sharing->directory, file->name);
    if (!rank_report_is(path) && sources_is_trace(path) && !sources_seems_trace(path)) {
        notice("'%s' is JSON but not a trace: left out", path);
        return LEFT_OUT;
    }
    int report, status = rank_report_open(sharing->options, rank_report_sections(), path, &report);
    if (status == RANK_REPORT_NONE)
        status = error("'%s' has no ranks: a report by MPI is of the traces of a job's ranks", path);
    if (status < 0 && report >= 0)
        close(report);
    return status < 0 ? -1 : report;
}

#define PIECE ((size_t)4 << 20)

/* Reads LENGTH bytes of a rank report at AT. After a failure, sets BLOCK to zeros, because the other process waits for
 * all bytes. */
static void read_block(struct sharing *sharing, int report, char *block, size_t length, uint64_t at)
{
    if (!sharing->failed && !file_read_at(report, block, length, at)) {
        error("cannot read a part: %s", strerror(errno));
        sharing->failed = true;
    }
    if (sharing->failed)
        memset(block, 0, length);
}

/* Sent instead of the size of a rank report: there was an error, or the file is not a trace. */
#define NO_REPORT UINT64_MAX
#define PART_LEFT_OUT (UINT64_MAX - 1)

static uint64_t report_size(int report)
{
    struct stat status;
    if (report == LEFT_OUT)
        return PART_LEFT_OUT;
    return report >= 0 && fstat(report, &status) == 0 ? (uint64_t)status.st_size : NO_REPORT;
}

/* Sends the size of the rank report and its bytes. */
static void send_report(struct sharing *sharing, const struct mpi_file *file, char *block)
{
    int report = open_report(sharing, file);
    uint64_t size = report_size(report);
    mpi_send(&sharing->mpi, 0, &size, sizeof(size));
    sharing->failed |= size == NO_REPORT;
    for (uint64_t at = 0; size < PART_LEFT_OUT && at < size; at += PIECE) {
        size_t length = size - at < PIECE ? (size_t)(size - at) : PIECE;
        read_block(sharing, report, block, length, at);
        mpi_send(&sharing->mpi, 0, block, length);
    }
    if (report >= 0)
        close(report);
}

static void report_path(const struct sharing *sharing, size_t number, char path[PATH + 32])
{
    snprintf(path, PATH + 32, "%s/%zu.gpr", sharing->reports, number);
}

/* Process 0: stores the rank report of file NUMBER, its own or that of another process, as a file. */
static void store_report(struct sharing *sharing, size_t number, char *block)
{
    struct mpi_file *file = &sharing->files.items[number];
    bool own = file->process == 0;
    int report = own ? open_report(sharing, file) : -1;
    uint64_t size = report_size(report);
    if (!own)
        mpi_receive(&sharing->mpi, file->process, &size, sizeof(size));
    file->left_out = size == PART_LEFT_OUT;
    if (file->left_out)
        return;
    char path[PATH + 32];
    report_path(sharing, number, path);
    int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (to < 0)
        error("cannot write '%s': %s", path, strerror(errno));
    sharing->failed |= size == NO_REPORT || to < 0;
    for (uint64_t at = 0; size != NO_REPORT && at < size; at += PIECE) {
        size_t length = size - at < PIECE ? (size_t)(size - at) : PIECE;
        if (own)
            read_block(sharing, report, block, length, at);
        else
            mpi_receive(&sharing->mpi, file->process, block, length);
        for (size_t done = 0; to >= 0 && !sharing->failed && done < length;) {
            ssize_t written = write(to, block + done, length - done);
            sharing->failed = written < 0 && errno != EINTR && error("cannot write '%s': %s", path, strerror(errno));
            done += written > 0 ? (size_t)written : 0;
        }
    }
    if (report >= 0)
        close(report);
    if (to >= 0)
        close(to);
}

/* --- process 0 --- */

static int report(struct sharing *sharing, struct buffer *out)
{
    size_t all = sharing->files.count, count = 0;
    struct report_options options = *sharing->options;
    struct {
        char report[PATH + 32], file[PATH + NAME];
    } *texts = calloc(all + 1, sizeof(*texts));
    const char **paths = calloc(2 * all + 1, sizeof(*paths)), **names = paths ? paths + all : NULL;
    int status = texts && paths ? 0 : error_no_memory("a report of a job");
    bool are_traces = true;                      /* all files are traces that process 0 can read */
    options.filter = (struct filter_options){0}; /* the rank reports are already filtered */
    for (size_t i = 0; i < all && status == 0; i++) {
        const char *name = sharing->files.items[i].name;
        if (sharing->files.items[i].left_out)
            continue;
        report_path(sharing, i, texts[count].report);
        snprintf(texts[count].file, sizeof(texts[count].file), "%s/%s", sharing->directory, name);
        paths[count] = texts[count].report;
        names[count] = texts[count].file;
        are_traces &= strcmp(name + strlen(name) - strlen(".gpr"), ".gpr") != 0 && access(names[count], R_OK) == 0;
        count++;
    }
    if (status == 0 && count == 0)
        status = error("no trace in '%s' on any node: .json, .pftrace or .gpr", sharing->directory);
    if (status == 0)
        status = job_report_reduce(&options, paths, names, are_traces, count, out);
    if (status == JOB_REPORT_NONE)
        status = report_files(sharing->options, names, count, out);
    free(texts);
    free(paths);
    return status;
}

/* Process 0 handles its own files first, while the other processes work. */
static int gather(struct sharing *sharing, char *block, struct buffer *out)
{
    snprintf(sharing->reports, sizeof(sharing->reports), "%s/gputrace-parts-XXXXXX", temporary_directory());
    if (!mkdtemp(sharing->reports)) {
        error("cannot make a directory in '%s': %s", temporary_directory(), strerror(errno));
        sharing->failed = true;
    }
    for (unsigned others = 0; others < 2; others++)
        for (size_t i = 0; i < sharing->files.count; i++)
            if ((sharing->files.items[i].process != 0) == others)
                store_report(sharing, i, block);
    int status = -1;
    if (!sharing->failed)
        status = report(sharing, out);
    char path[PATH + 32];
    for (size_t i = 0; i < sharing->files.count; i++) {
        report_path(sharing, i, path);
        unlink(path);
    }
    rmdir(sharing->reports);
    return status;
}

int job_mpi_report(const struct report_options *options, const char *directory, struct buffer *out)
{
    struct sharing sharing = {.options = options, .directory = directory};
    char *block = malloc(PIECE);
    int status = block ? mpi_begin(&sharing.mpi) : error_no_memory("a report of a job");
    if (status < 0) {
        free(block);
        return status;
    }
    share(&sharing);
    if (sharing.mpi.rank == 0)
        status = gather(&sharing, block, out);
    for (size_t i = 0; sharing.mpi.rank > 0 && i < sharing.files.count; i++)
        send_report(&sharing, &sharing.files.items[i], block);
    sharing.mpi.finalize();
    array_release(&sharing.files);
    free(block);
    return sharing.failed ? -1 : status;
}
