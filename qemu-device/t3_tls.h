/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TLS on a connection to another node: property tls-creds= of the fabric. Both nodes prove who they
 * are, with certificates that one authority has signed.
 */
#ifndef T3_TLS_H
#define T3_TLS_H

#include "crypto/tlscreds.h"
#include "t3_wire.h"

/*
 * The node that listens is the server. On success the wire's bytes are the session's, and its socket
 * does not block. `stop`, which another thread may set, ends it; so does the time.
 */
bool t3_tls_server(T3Wire *wire, QCryptoTLSCreds *creds, const bool *stop, Error **errp);
bool t3_tls_client(T3Wire *wire, QCryptoTLSCreds *creds, const char *host, const bool *stop,
		   Error **errp);

/*
 * A node listens for some and connects to others. The object that the user has made is for one of
 * the two; this one is the same for the other, as a child of `owner`. Each may be needed or not.
 */
typedef struct T3Secrets {
	QCryptoTLSCreds *server, *client;
} T3Secrets;

bool t3_secrets_find(T3Secrets *secrets, Object *owner, const char *id, bool listens, bool connects,
		     Error **errp);
void t3_secrets_drop(T3Secrets *secrets);

#endif /* T3_TLS_H */
