/*
 * How a process that cannot reach the spool directory gets its spool: it asks the launcher, which makes the file and
 * hands it over as a descriptor. Privileges may have been dropped, the directory may be hidden by a mount, the root may
 * be another or read-only, and programs close descriptors that they inherit; a socket in the abstract namespace can be
 * reached all the same.
 *
 * The launcher listens on a SOCK_SEQPACKET socket, and the setting `spool_server` holds "NAME:TOKEN": the socket's name
 * without its first byte, which is 0, and a secret, as any user can connect to such a socket. One message is one
 * request on a connection of its own. The launcher answers a request for a file with a struct spool_reply, and with the
 * file's descriptor (SCM_RIGHTS) when `failure` is 0. A report that the process is not recorded gets a reply too.
 */
#ifndef GPUTRACE_COMMON_SPOOL_REQUEST_H
#define GPUTRACE_COMMON_SPOOL_REQUEST_H

#include <stdint.h>

#define SPOOL_SERVER_NAME_MAX 64  /* bytes with the NUL */
#define SPOOL_SERVER_TOKEN_MAX 40 /* the same */

#define SPOOL_NO_IMAGE UINT32_MAX

struct spool_request {
    char token[SPOOL_SERVER_TOKEN_MAX]; /* NUL-terminated, zeros after it */
    uint32_t pid;                       /* getpid() of the process: the file is named after it */
    uint32_t image;  /* of a report: the file that it got before and could not use, or SPOOL_NO_IMAGE */
    int32_t failure; /* 0: it asks for a file; else it reports the errno for which it is not recorded */
};

struct spool_reply {
    int32_t failure; /* errno; 0: the file is made, or the report is noted */
    uint32_t image;  /* the file's name is PID-IMAGE.spool */
};

#endif
