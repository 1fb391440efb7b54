# Varnish in front of a Freshet server. Works with Varnish 6.0 and newer.
#
# Freshet's own clients are never served stale data, whatever this file says. The file adds purges, for readers that use
# curl or other languages; it refuses purges from anyone else; and it keeps nothing longer than the server allows.
vcl 4.1;

# Where the server listens.
backend freshet {
    .host = "127.0.0.1";
    .port = "7700";
}

# Who may purge: clients at these addresses that ALSO know the secret below.
acl purgers {
    "127.0.0.1";
    "::1";
}

sub vcl_recv {
    # PURGE removes the copy of one URL; BAN removes all copies whose URL matches the expression in Freshet-Ban.
    if (req.method == "PURGE" || req.method == "BAN") {
        # Choose a secret of your own.
        if (client.ip !~ purgers || req.http.Freshet-Purge-Secret != "change-me") {
            return (synth(403, "Forbidden"));
        }
        if (req.method == "PURGE") {
            return (purge);
        }
        if (!req.http.Freshet-Ban) {
            return (synth(400, "Freshet-Ban is missing"));
        }
        ban("obj.http.Freshet-Url ~ " + req.http.Freshet-Ban);
        return (synth(200, "Banned"));
    }
    # Varnish has put the client's address last into X-Forwarded-For; the server trusts only that one, and only if Varnish
    # is among its trustedProxies.
    unset req.http.Forwarded;
    # An event stream never ends, so it is piped rather than fetched.
    if (req.url ~ "^/coherence/events") {
        return (pipe);
    }
    # No two requests for the head of the sketch have the same URL, so there is nothing to look up or to store.
    if (req.url ~ "^/coherence(\?|$)") {
        return (pass);
    }
    # Varnish's own rules follow: requests with Authorization or a cookie are passed on, and their answers are not stored.
}

sub vcl_hash {
    # The whole URL with its query string. Do not sort, shorten or normalise queries: ?at= is what keeps reads fresh. The host
    # name that readers use makes no difference, so a purge need not know it either.
    hash_data(req.url);
    return (lookup);
}

sub vcl_pipe {
    # One stream for each connection, so that Varnish examines the next request again.
    set bereq.http.Connection = "close";
}

sub vcl_backend_response {
    # The server sets lifetimes; by default Varnish would go on serving for ten seconds afterwards (default_grace). It keeps
    # the copy for a while, so that it can revalidate it instead of fetching it in full.
    set beresp.grace = 0s;
    set beresp.keep = 60s;
    # For bans: this finds copies that no request asks for, too.
    set beresp.http.Freshet-Url = bereq.url;
}

sub vcl_deliver {
    unset resp.http.Freshet-Url;
}

sub vcl_backend_error {
    # By default Varnish would ask readers to stay away for five seconds (Retry-After). A restarted server is back
    # earlier, and Freshet's clients back off by themselves.
    set beresp.http.Content-Type = "text/plain; charset=utf-8";
    set beresp.http.Cache-Control = "no-store";
    set beresp.body = "The server behind this cache does not answer.";
    return (deliver);
}
