using System.Buffers;
using System.Collections.ObjectModel;
using System.Globalization;
using System.Runtime.InteropServices;
using System.Text.Json;

namespace Tunnel2.ProxyEntry.ClusterCalls;

/// <summary>
/// Makes one answer of those of several nodes. What a node has written is taken over as it is, with the node's name. Stateless.
/// </summary>
internal static class ClusterLists
{
    /// <summary>A page of sessions. Each node has given as many after the same name.</summary>
    public static ReadOnlyMemory<byte> Sessions(IReadOnlyList<NodeReply> replies, int limit)
    {
        var documents = Documents(replies);
        var all = documents.SelectMany(static one => Items(one.Document, "sessions").Select(session => (one.Node, Session: session)))
            .OrderBy(static one => Text(one.Session, "name"), StringComparer.Ordinal).ThenBy(static one => one.Node, StringComparer.Ordinal)
            .ToList();
        while (limit < all.Count && Text(all[limit].Session, "name") == Text(all[limit - 1].Session, "name"))
        {
            // The next page begins after a name, so a page has all sessions of its last one.
            limit++;
        }

        var hasMore = limit < all.Count || documents.Any(static one => Text(one.Document, "next").Length > 0);
        return Write(json =>
        {
            json.WriteStartArray("sessions"u8);
            foreach (var (node, session) in all.Take(limit))
            {
                WriteWithNode(json, session, node);
            }

            json.WriteEndArray();
            json.WriteNumber("total"u8, documents.Sum(static one => Number(one.Document, "total")));
            if (hasMore && all.Count > 0)
            {
                json.WriteString("next"u8, Text(all[Math.Min(limit, all.Count) - 1].Session, "name"));
            }

            WriteNodes(json, replies);
        });
    }

    /// <summary>The last requests of a session, the newest first.</summary>
    public static ReadOnlyMemory<byte> Requests(IReadOnlyList<NodeReply> replies, int limit) => Write(json =>
    {
        json.WriteStartArray("requests"u8);
        foreach (var (node, request) in Documents(replies)
            .SelectMany(static one => Items(one.Document, "requests").Select(request => (one.Node, Request: request)))
            .OrderByDescending(static one => Time(one.Request)).Take(limit))
        {
            WriteWithNode(json, request, node);
        }

        json.WriteEndArray();
        WriteNodes(json, replies);
    });

    /// <summary>Until when a node inspects a session, by its answer; null: it does not.</summary>
    public static string? UntilOf(NodeReply reply) =>
        reply.Document() is { } document && Text(document, "until") is { Length: > 0 } until ? until : null;

    /// <summary>The process of a node that inspects a session, by its answer; null: it does not.</summary>
    public static string? ProcessOf(NodeReply reply) =>
        reply.Document() is { } document && Text(document, "process") is { Length: > 0 } process ? process : null;

    /// <summary>A document with the name of its node.</summary>
    public static ReadOnlyMemory<byte> WithNode(JsonElement document, string node)
    {
        var buffer = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(buffer))
        {
            WriteWithNode(json, document, node);
        }

        return buffer.WrittenMemory;
    }

    /// <summary>Writes an object.</summary>
    public static ReadOnlyMemory<byte> Write(Action<Utf8JsonWriter> members)
    {
        var buffer = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(buffer))
        {
            json.WriteStartObject();
            members(json);
            json.WriteEndObject();
        }

        return buffer.WrittenMemory;
    }

    /// <summary>Writes which nodes were asked, and which of them the list lacks.</summary>
    /// <param name="json">Where to.</param>
    /// <param name="replies">What the nodes have answered.</param>
    /// <param name="further">Writes more of a node.</param>
    /// <param name="gone">Nodes of which something is gone, and in which way.</param>
    public static void WriteNodes(
        Utf8JsonWriter json, IReadOnlyList<NodeReply> replies, Action<Utf8JsonWriter, NodeReply>? further = null,
        IReadOnlyDictionary<string, (string State, string Problem)>? gone = null)
    {
        json.WriteStartArray("nodes"u8);
        foreach (var reply in replies)
        {
            var (state, problem) = reply.IsLost || gone is null || !gone.TryGetValue(reply.Node, out var left)
                ? (reply.State, reply.Problem) : left;
            WriteNode(json, reply.Node, state, problem, json => further?.Invoke(json, reply));
        }

        foreach (var (node, (state, problem)) in gone ?? ReadOnlyDictionary<string, (string, string)>.Empty)
        {
            if (!replies.Any(reply => reply.Node == node))
            {
                WriteNode(json, node, state, problem, static _ => { });
            }
        }

        json.WriteEndArray();
    }

    private static void WriteNode(Utf8JsonWriter json, string node, string state, string problem, Action<Utf8JsonWriter> further)
    {
        json.WriteStartObject();
        json.WriteString("node"u8, node);
        json.WriteString("state"u8, state);
        if (problem.Length > 0)
        {
            json.WriteString("problem"u8, problem);
        }

        further(json);
        json.WriteEndObject();
    }

    /// <summary>The documents of those that have answered with one.</summary>
    public static List<(string Node, JsonElement Document)> Documents(IReadOnlyList<NodeReply> replies)
    {
        var documents = new List<(string, JsonElement)>();
        foreach (var reply in replies)
        {
            if (reply.Document() is { } document)
            {
                documents.Add((reply.Node, document));
            }
        }

        return documents;
    }

    /// <summary>The objects of an array; none where there is no such.</summary>
    public static IEnumerable<JsonElement> Items(JsonElement document, string name) =>
        document.TryGetProperty(name, out var array) && array.ValueKind == JsonValueKind.Array
            ? array.EnumerateArray().Where(static item => item.ValueKind == JsonValueKind.Object)
            : [];

    /// <summary>A text; empty where there is none.</summary>
    public static string Text(JsonElement document, string name) =>
        document.TryGetProperty(name, out var value) && value.ValueKind == JsonValueKind.String ? value.GetString() ?? "" : "";

    /// <summary>A number; 0 where there is none.</summary>
    public static long Number(JsonElement document, string name) =>
        document.TryGetProperty(name, out var value) && value.ValueKind == JsonValueKind.Number && value.TryGetInt64(out var number)
            ? number : 0;

    /// <summary>When a request or an exchange has begun.</summary>
    public static DateTimeOffset Time(JsonElement one) =>
        one.TryGetProperty("startedAt", out var value) && value.ValueKind == JsonValueKind.String
            && value.TryGetDateTimeOffset(out var time) ? time : default;

    /// <summary>
    /// Writes a member in the form that its node has given it: another one would have other escapes, as of the <c>+</c> in times.
    /// </summary>
    public static void WriteAsIs(Utf8JsonWriter json, JsonProperty member)
    {
        json.WritePropertyName(member.Name);
        json.WriteRawValue(JsonMarshal.GetRawUtf8Value(member.Value), skipInputValidation: true);
    }

    /// <summary>Writes a moment that a node has given, in the form of all moments of the API.</summary>
    public static void WriteMoment(Utf8JsonWriter json, ReadOnlySpan<byte> name, string text)
    {
        if (DateTimeOffset.TryParse(text, CultureInfo.InvariantCulture, DateTimeStyles.RoundtripKind, out var moment))
        {
            json.WriteString(name, moment);
        }
        else
        {
            json.WriteString(name, text);
        }
    }

    private static void WriteWithNode(Utf8JsonWriter json, JsonElement one, string node)
    {
        json.WriteStartObject();
        json.WriteString("node"u8, node);
        foreach (var member in one.EnumerateObject().Where(static member => member.Name != "node"))
        {
            WriteAsIs(json, member);
        }

        json.WriteEndObject();
    }
}
