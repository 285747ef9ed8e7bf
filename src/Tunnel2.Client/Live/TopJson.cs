using System.Buffers;
using System.Text;
using System.Text.Json;

namespace Tunnel2.Client.Live;

/// <summary>What <c>tunnel2 top --json</c> prints: all that is known at one moment as one object (docs/live.md). Pure.</summary>
internal static class TopJson
{
    /// <summary>Writes it as one line.</summary>
    /// <param name="state">What is known.</param>
    /// <param name="server">The server's name.</param>
    /// <param name="serverNowUs">The server's time of day, microseconds since 1970.</param>
    public static string Write(TopState state, string server, long serverNowUs)
    {
        var buffer = new ArrayBufferWriter<byte>();
        using (var json = new Utf8JsonWriter(buffer))
        {
            int seconds = state.WindowSeconds;
            json.WriteStartObject();
            json.WriteString("server", server);
            json.WriteNumber("timeUs", serverNowUs);
            json.WriteString("window", TopFigures.WindowKeys[state.Window]);
            json.WriteNumber("skipped", state.Skipped);
            json.WriteNumber("missed", state.Missed);
            json.WriteBoolean("paused", state.IsPaused);
            json.WriteStartObject("node");
            WriteFigures(json, state.Current(serverNowUs), seconds);
            json.WriteEndObject();
            if (state.IsCluster)
            {
                WriteNodes(json, state);
            }

            json.WriteStartArray("sessions");
            var rows = state.Sessions.Select(pair =>
                new TopRow(pair.Key, pair.Value, state.Current(pair.Value, state.Window, serverNowUs)));
            foreach ((_, TopSession session, TopStatistics now) in TopSort.Default.Sort(rows))
            {
                json.WriteStartObject();
                json.WriteString("session", session.Name);
                if (session.Node is { } node)
                {
                    json.WriteString("node", node.Name);
                }

                json.WriteBoolean("online", session.IsOnline);
                json.WriteString("agent", session.Agent);
                json.WriteNumber("uplinks", session.Uplinks);
                WriteFigures(json, now, seconds);
                json.WriteEndObject();
            }

            json.WriteEndArray();
            json.WriteEndObject();
        }

        return Encoding.UTF8.GetString(buffer.WrittenSpan);
    }

    private static void WriteNodes(Utf8JsonWriter json, TopState state)
    {
        json.WriteStartArray("nodes");
        foreach (TopNode node in state.Nodes.Values)
        {
            json.WriteStartObject();
            json.WriteString("node", node.Name);
            json.WriteString("state", node.State);
            json.WriteString("version", node.Version);
            json.WriteNumber("skipped", node.Skipped);
            json.WriteEndObject();
        }

        json.WriteEndArray();
    }

    /// <summary>
    /// The members have the names of the hub's. A window without a request has zeros, one of which nothing is known has nulls: a reader
    /// takes a zero for a service without visitors.
    /// </summary>
    private static void WriteFigures(Utf8JsonWriter json, in TopStatistics now, int seconds)
    {
        bool isKnown = now.Requests >= 0;
        json.WriteNumber("seconds", isKnown ? now.Seconds : seconds);
        Write("requests", now.Requests);
        Write("errors", now.Errors);
        Write("bytesIn", now.BytesIn);
        Write("bytesOut", now.BytesOut);
        Write("p50Us", now.P50Us);
        Write("p95Us", now.P95Us);
        Write("p99Us", now.P99Us);

        void Write(string name, long value)
        {
            if (isKnown)
            {
                json.WriteNumber(name, value);
            }
            else
            {
                json.WriteNull(name);
            }
        }
    }
}
