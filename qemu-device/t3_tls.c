/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TLS on a connection to another node. See t3_tls.h. */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "crypto/tlscredsx509.h"
#include "io/channel-tls.h"
#include "qom/object_interfaces.h"
#include "t3_tls.h"

#define T3_HANDSHAKE_MS 5000
#define T3_LOOK_MS	50

/* ---------------------------------------------------------------- handshake */

typedef struct Handshake {
	bool done;
	Error *error;
} Handshake;

static void handshake_done(QIOTask *task, void *opaque)
{
	Handshake *handshake = opaque;

	handshake->done = true;
	qio_task_propagate_error(task, &handshake->error);
}

static gboolean look_again(void *opaque)
{
	return G_SOURCE_CONTINUE;
}

static GSource *add_ticks(GMainContext *context)
{
	GSource *ticks = g_timeout_source_new(T3_LOOK_MS);

	g_source_set_callback(ticks, look_again, NULL, NULL);
	g_source_attach(ticks, context);
	return ticks;
}

/* QEMU's function runs in a context of GLib. An end of the socket ends it. */
static void run_handshake(T3Wire *wire, QIOChannelTLS *tls, Handshake *handshake, const bool *stop)
{
	int64_t end = g_get_monotonic_time() + T3_HANDSHAKE_MS * 1000;
	GMainContext *context = g_main_context_new();
	GSource *ticks = add_ticks(context);

	qio_channel_tls_handshake(tls, handshake_done, handshake, NULL, context);
	while (!handshake->done) {
		g_main_context_iteration(context, true);
		if (qatomic_read(stop) || g_get_monotonic_time() > end)
			t3_wire_shutdown(wire);
	}
	g_source_destroy(ticks);
	g_source_unref(ticks);
	g_main_context_unref(context);
}

static bool begin(T3Wire *wire, QIOChannelTLS *tls, const bool *stop, Error **errp)
{
	Handshake handshake = { 0 };

	if (!tls)
		return false;
	qio_channel_set_blocking(QIO_CHANNEL(wire->socket), false, NULL);
	run_handshake(wire, tls, &handshake, stop);
	if (handshake.error) {
		error_propagate(errp, handshake.error);
		object_unref(OBJECT(tls));
		return false;
	}
	wire->tls = QIO_CHANNEL(tls);
	return true;
}

bool t3_tls_server(T3Wire *wire, QCryptoTLSCreds *creds, const bool *stop, Error **errp)
{
	return begin(wire, qio_channel_tls_new_server(QIO_CHANNEL(wire->socket), creds, NULL, errp),
		     stop, errp);
}

bool t3_tls_client(T3Wire *wire, QCryptoTLSCreds *creds, const char *host, const bool *stop,
		   Error **errp)
{
	return begin(wire, qio_channel_tls_new_client(QIO_CHANNEL(wire->socket), creds, host, errp),
		     stop, errp);
}

/* -------------------------------------------------------------- credentials */

/* Its certificates are in the same folder, with the names of the other endpoint. */
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

bool t3_secrets_find(T3Secrets *secrets, Object *owner, const char *id, bool listens, bool connects,
		     Error **errp)
{
	Object *given = given_object(id, errp);

	if (!given)
		return false;
	if (listens)
		secrets->server = find(given, owner, QCRYPTO_TLS_CREDS_ENDPOINT_SERVER, errp);
	if (connects && (!listens || secrets->server))
		secrets->client = find(given, owner, QCRYPTO_TLS_CREDS_ENDPOINT_CLIENT, errp);
	return (!listens || secrets->server) && (!connects || secrets->client);
}

void t3_secrets_drop(T3Secrets *secrets)
{
	if (secrets->server)
		object_unref(OBJECT(secrets->server));
	if (secrets->client)
		object_unref(OBJECT(secrets->client));
}
