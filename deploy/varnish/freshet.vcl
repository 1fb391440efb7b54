# Varnish in front of a Freshet server. Works with Varnish 6.0 and newer.
#
# Freshet's own clients are never served anything stale, whatever is written here. What the file adds: purges, for readers
# who ask with curl or in other languages; nobody else's purges; and nothing is kept longer than the server says.
vcl 4.1;

# Where the server listens.
backend freshet {
    .host = "127.0.0.1";
    .port = "7700";
}

# Who may purge: those who come from here AND know the secret below.
acl purgers {
    "127.0.0.1";
    "::1";
}

sub vcl_recv {
    # What is asked for is thrown away: PURGE, one URL; BAN, all whose URL fits the expression in Freshet-Ban.
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
    # Whom it is from Varnish has put last into X-Forwarded-For; the server believes that alone, if Varnish is among its trustedProxies.
    unset req.http.Forwarded;
    # An event stream never ends, so it is piped rather than fetched.
    if (req.url ~ "^/coherence/events") {
        return (pipe);
    }
    # No two requests for the head of the sketch have the same URL: there is nothing to look up, or to remember.
    if (req.url ~ "^/coherence(\?|$)") {
        return (pass);
    }
    # Varnish's own rules follow: requests with Authorization or a cookie are passed on, and their answers not kept.
}

sub vcl_hash {
    # The whole URL, its query included. Do not sort, shorten or normalise queries: ?at= is what keeps reads fresh. By
    # which name readers call this host makes no difference, so that a purge need not know it either.
    hash_data(req.url);
    return (lookup);
}

sub vcl_pipe {
    # One stream for each connection; the next request is looked at again.
    set bereq.http.Connection = "close";
}

sub vcl_backend_response {
    # Lifetimes are the server's; left alone, Varnish would go on serving for ten seconds after (default_grace). It keeps
    # the copy for a while, to have it revalidated rather than sent again.
    set beresp.grace = 0s;
    set beresp.keep = 60s;
    # For bans: copies that nobody asks for are found by it as well.
    set beresp.http.Freshet-Url = bereq.url;
}

sub vcl_deliver {
    unset resp.http.Freshet-Url;
}

sub vcl_backend_error {
    # Left alone, Varnish would tell readers to stay away for five seconds (Retry-After). A server that is restarted is
    # back earlier, and Freshet's clients back off by themselves.
    set beresp.http.Content-Type = "text/plain; charset=utf-8";
    set beresp.http.Cache-Control = "no-store";
    set beresp.body = "The server behind this cache does not answer.";
    return (deliver);
}
