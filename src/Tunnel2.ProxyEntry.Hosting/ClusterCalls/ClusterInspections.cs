using System.Text.Json;
using Tunnel2.Inspection.Capture;
using Tunnel2.Inspection.Serving;
using Tunnel2.ProxyEntry.Inspection;
using Tunnel2.ProxyEntry.Uplink;

namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>
/// Switches inspections on and off for all nodes: first at the nodes that have the session, and then in what nodes share, so that the
/// inspection follows the session. Thread-safe.
/// </summary>
internal sealed class ClusterInspections(ClusterNodes nodes, SharedInspections shared, PublicAddresses addresses)
{
    /// <summary>Answers a call that reads, begins or ends the inspection of a session.</summary>
    public async Task SwitchAsync(ClusterCall call)
    {
        var name = call.Session!;
        var isBegun = HttpMethods.IsPut(call.Method);
        if (isBegun && !shared.MayBegin(name))
        {
            await call.FailAsync(
                StatusCodes.Status409Conflict, "too-many",
                FormattableString.Invariant($"{EntryInspections.MostSessions} sessions are inspected already; end one of them."))
                .ConfigureAwait(false);
            return;
        }

        // Before a node ends it: then no node expects the session any more.
        var wasOn = shared.UntilOf(name) is not null;
        var replies = await nodes.AskAllAsync(call, call.Target()).ConfigureAwait(false);
        var isNowhere = replies.All(static reply => reply.IsLost || reply.Status == StatusCodes.Status404NotFound);
        if (!replies.Any(static reply => reply.IsDone) && !(wasOn && isNowhere))
        {
            await call.FailAsync(replies).ConfigureAwait(false);
        }
        else if (HttpMethods.IsDelete(call.Method))
        {
            await shared.EndAsync(name).ConfigureAwait(false);
            await call.WriteAsync(StatusCodes.Status204NoContent, "", default).ConfigureAwait(false);
        }
        else
        {
            var follows = isBegun
                ? await shared.BeginAsync(name, TimeSpan.FromMinutes(call.Number("minutes") ?? InspectionEndpoints.UsualMinutes))
                    .ConfigureAwait(false)
                : (bool?)null;
            await call.WriteAsync(
                StatusCodes.Status200OK, InspectorResponse.Json, Describe(name, replies, shared.UntilOf(name), follows))
                .ConfigureAwait(false);
        }
    }

    /// <summary>The sessions that are inspected, each name once, also one that is at no node now.</summary>
    public ReadOnlyMemory<byte> List(IReadOnlyList<NodeReply> replies)
    {
        var documents = ClusterLists.Documents(replies);
        var names = documents
            .SelectMany(static one => ClusterLists.Items(one.Document, "sessions").Select(session => (one.Node, Session: session)))
            .GroupBy(static one => ClusterLists.Text(one.Session, "name"), StringComparer.Ordinal).ToList();
        return ClusterLists.Write(json =>
        {
            // The build of the page is that of the node that was asked, which is the first one.
            json.WriteString("build"u8, documents.Count > 0 ? ClusterLists.Text(documents[0].Document, "build") : "");
            json.WriteStartArray("sessions"u8);
            foreach (var name in names)
            {
                json.WriteStartObject();
                foreach (var member in name.First().Session.EnumerateObject().Where(static member => member.Name != "until"))
                {
                    ClusterLists.WriteAsIs(json, member);
                }

                WriteUntil(json, name.Select(static one => ClusterLists.Text(one.Session, "until")), shared.UntilOf(name.Key));
                WriteAt(json, name.Select(static one => one.Node));
            }

            foreach (var (name, _) in shared.All.Where(one => names.TrueForAll(name => name.Key != one.Name)))
            {
                json.WriteStartObject();
                json.WriteString("name"u8, name);
                json.WriteString("upstream"u8, "");
                json.WriteStartArray("urls"u8);
                foreach (var url in addresses.All(name))
                {
                    json.WriteStringValue(url);
                }

                json.WriteEndArray();
                json.WriteNumber("bodyLimit"u8, InspectionLimits.Default.BodyBytes);
                WriteUntil(json, [], shared.UntilOf(name));
                WriteAt(json, []);
            }

            json.WriteEndArray();
            ClusterLists.WriteNodes(json, replies);
        });
    }

    /// <summary>Writes until when a session is inspected: as nodes have said it, or as this one knows it; null: it is not.</summary>
    public static void WriteUntil(Utf8JsonWriter json, IEnumerable<string?> untils, DateTimeOffset? shared)
    {
        if (untils.Max() is { Length: > 0 } until)
        {
            ClusterLists.WriteMoment(json, "until"u8, until);
        }
        else if (shared is { } time)
        {
            json.WriteString("until"u8, time);
        }
        else
        {
            json.WriteNull("until"u8);
        }
    }

    /// <summary>Until when a session is inspected: at the node that does it longest, and at each.</summary>
    /// <param name="name">The session's name.</param>
    /// <param name="replies">What the nodes have answered.</param>
    /// <param name="shared">Until when by what nodes share; null: they share none.</param>
    /// <param name="follows">Whether the inspection that was begun is shared; null: none was.</param>
    public static ReadOnlyMemory<byte> Describe(
        string name, IReadOnlyList<NodeReply> replies, DateTimeOffset? shared, bool? follows) => ClusterLists.Write(json =>
    {
        json.WriteString("name"u8, name);
        WriteUntil(json, replies.Select(ClusterLists.UntilOf), shared);
        if (follows is { } isShared)
        {
            json.WriteBoolean("follows"u8, isShared);
        }

        ClusterLists.WriteNodes(json, replies, static (json, reply) =>
        {
            if (ClusterLists.UntilOf(reply) is { } until)
            {
                ClusterLists.WriteMoment(json, "until"u8, until);
            }
        });
    });

    private static void WriteAt(Utf8JsonWriter json, IEnumerable<string> nodes)
    {
        json.WriteStartArray("at"u8);
        foreach (var node in nodes)
        {
            json.WriteStringValue(node);
        }

        json.WriteEndArray();
        json.WriteEndObject();
    }
}
