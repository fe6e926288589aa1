/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TLS on a connection to another node. See tls.h. */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "crypto/tlscredsx509.h"
#include "io/channel-tls.h"
#include "qom/object_interfaces.h"
#include "transport/tls.h"

#define T3_HANDSHAKE_MS 5000
#define T3_LOOK_MS	50

/* ---------------------------------------------------------------- handshake */

typedef struct Handshake {
	T3TlsDone *done;
	void *opaque;
} Handshake;

static void handshake_done(QIOTask *task, void *opaque)
{
	Handshake *handshake = opaque;
	Error *error = NULL;

	qio_task_propagate_error(task, &error);
	handshake->done(handshake->opaque, error);
}

/* QEMU's function runs in a context of GLib. */
static void begin(T3Connection *conn, QIOChannelTLS *tls, GMainContext *context, T3TlsDone *done,
		  void *opaque)
{
	Handshake *handshake = g_new(Handshake, 1);

	*handshake = (Handshake){ .done = done, .opaque = opaque };
	conn->tls = QIO_CHANNEL(tls);
	qio_channel_tls_handshake(tls, handshake_done, handshake, g_free, context);
}

bool t3_tls_server(T3Connection *conn, QCryptoTLSCreds *creds, GMainContext *context,
		   T3TlsDone *done, void *opaque, Error **errp)
{
	QIOChannelTLS *tls =
		qio_channel_tls_new_server(QIO_CHANNEL(conn->socket), creds, NULL, errp);

	if (tls)
		begin(conn, tls, context, done, opaque);
	return tls;
}

typedef struct Client {
	bool done;
	Error *error;
} Client;

static void client_done(void *opaque, Error *error)
{
	Client *client = opaque;

	client->done = true;
	client->error = error;
}

static gboolean look_again(void *opaque)
{
	return G_SOURCE_CONTINUE;
}

bool t3_tls_client(T3Connection *conn, QCryptoTLSCreds *creds, const char *host, const bool *stop,
		   Error **errp)
{
	int64_t end = g_get_monotonic_time() + T3_HANDSHAKE_MS * 1000;
	GMainContext *context;
	GSource *ticks;
	Client client = { 0 };
	QIOChannelTLS *tls =
		qio_channel_tls_new_client(QIO_CHANNEL(conn->socket), creds, host, errp);

	if (!tls)
		return false;
	context = g_main_context_new();
	ticks = g_timeout_source_new(T3_LOOK_MS);
	g_source_set_callback(ticks, look_again, NULL, NULL);
	g_source_attach(ticks, context);
	qio_channel_set_blocking(QIO_CHANNEL(conn->socket), false, NULL);
	begin(conn, tls, context, client_done, &client);
	while (!client.done) {
		g_main_context_iteration(context, true);
		if (qatomic_read(stop) || g_get_monotonic_time() > end)
			t3_connection_shutdown(conn);
	}
	g_source_destroy(ticks);
	g_source_unref(ticks);
	g_main_context_unref(context);
	error_propagate(errp, client.error);
	return !client.error;
}

/* -------------------------------------------------------------- credentials */

/* The other endpoint's certificates are in the same folder, under their usual names. */
static Object *make_other(Object *given, Object *owner, const char *endpoint, Error **errp)
{
	g_autofree char *dir = object_property_get_str(given, "dir", NULL);
	g_autofree char *priority = object_property_get_str(given, "priority", NULL);
	g_autofree char *password = object_property_get_str(given, "passwordid", NULL);
	Object *other = object_new(TYPE_QCRYPTO_TLS_CREDS_X509);
	bool good = object_property_set_str(other, "endpoint", endpoint, errp) &&
		    object_property_set_str(other, "dir", dir ?: "", errp) &&
		    (!priority || !*priority ||
		     object_property_set_str(other, "priority", priority, errp)) &&
		    (!password || !*password ||
		     object_property_set_str(other, "passwordid", password, errp)) &&
		    user_creatable_complete(USER_CREATABLE(other), errp);

	if (good)
		object_property_add_child(owner, "tls-creds-other", other);
	object_unref(other);
	return good ? other : NULL;
}

/* The caller gets a reference: a user may delete his object. */
static QCryptoTLSCreds *find(Object *given, Object *owner, QCryptoTLSCredsEndpoint endpoint,
			     Error **errp)
{
	Object *found = given;

	if (!qcrypto_tls_creds_check_endpoint(QCRYPTO_TLS_CREDS(given), endpoint, NULL))
		found = make_other(given, owner, QCryptoTLSCredsEndpoint_str(endpoint), errp);
	return found ? QCRYPTO_TLS_CREDS(object_ref(found)) : NULL;
}

static Object *given_object(const char *id, Error **errp)
{
	Object *given = object_resolve_path_component(object_get_objects_root(), id);

	if (!given || !object_dynamic_cast(given, TYPE_QCRYPTO_TLS_CREDS_X509))
		error_setg(errp, "tls-creds=%s is no object of type %s", id,
			   TYPE_QCRYPTO_TLS_CREDS_X509);
	else if (!object_property_get_bool(given, "verify-peer", NULL))
		error_setg(errp, "tls-creds=%s has verify-peer=off: nodes verify each other", id);
	else
		return given;
	return NULL;
}

bool t3_tls_creds_find(T3TlsCreds *creds, Object *owner, const char *id, bool listens,
		       bool connects, Error **errp)
{
	Object *given = given_object(id, errp);

	if (!given)
		return false;
	if (listens)
		creds->server = find(given, owner, QCRYPTO_TLS_CREDS_ENDPOINT_SERVER, errp);
	if (connects && (!listens || creds->server))
		creds->client = find(given, owner, QCRYPTO_TLS_CREDS_ENDPOINT_CLIENT, errp);
	return (!listens || creds->server) && (!connects || creds->client);
}

void t3_tls_creds_release(T3TlsCreds *creds)
{
	if (creds->server)
		object_unref(OBJECT(creds->server));
	if (creds->client)
		object_unref(OBJECT(creds->client));
}
