/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TLS on a connection to another node: property tls-creds= of the fabric. Both nodes prove who they
 * are, with certificates that one authority has signed.
 */
#ifndef T3_TLS_H
#define T3_TLS_H

#include "crypto/tlscreds.h"
#include "transport/connection.h"

/*
 * The node that listens is the server. Its socket must not block, and the handshake is a part of the
 * context's loop. `done` is called once, with an error to be freed or NULL: then the connection's bytes are
 * the session's. An end of the socket ends it. False with an error: it did not begin.
 */
typedef void T3TlsDone(void *opaque, Error *error);
bool t3_tls_server(T3Connection *conn, QCryptoTLSCreds *creds, GMainContext *context,
		   T3TlsDone *done, void *opaque, Error **errp);
/*
 * The same for the node that connects, but it waits for the end. `stop`, which another thread may set,
 * ends it; so does the time.
 */
bool t3_tls_client(T3Connection *conn, QCryptoTLSCreds *creds, const char *host, const bool *stop,
		   Error **errp);

/*
 * A node listens for some and connects to others. The object that the user has made is for one of
 * the two; this one is the same for the other, as a child of `owner`. Each may be needed or not.
 */
typedef struct T3TlsCreds {
	QCryptoTLSCreds *server, *client;
} T3TlsCreds;

bool t3_tls_creds_find(T3TlsCreds *creds, Object *owner, const char *id, bool listens,
		       bool connects, Error **errp);
void t3_tls_creds_release(T3TlsCreds *creds);

#endif /* T3_TLS_H */
