using Tunnel2.Protocol.Errors;
using Tunnel2.Protocol.Frames;

namespace Tunnel2.Protocol.Handshake;

/// <summary>
/// What a node of a cluster announces to an agent: who it is, and to which other nodes the agent may connect too. Immutable.
/// </summary>
/// <param name="Node">The id of the node that says it.</param>
/// <param name="Zone">Its zone; may be empty.</param>
/// <param name="Others">Other nodes; a receiver keeps the valid ones of the first <see cref="MaxOthers"/>.</param>
public sealed record NodeAnnouncement(string Node, string Zone, IReadOnlyList<AnnouncedNode> Others)
{
    /// <summary>How many other nodes a receiver looks at.</summary>
    public const int MaxOthers = 16;

    /// <summary>Encodes a whole NODES frame.</summary>
    /// <param name="counter">The number of this list in the session; the highest counts.</param>
    /// <exception cref="ArgumentException">There are too many nodes, or a field is too long.</exception>
    public byte[] ToFrame(uint counter)
    {
        var buffer = new byte[FrameHeader.Size + ProtocolLimits.MaxNodesLength];
        var writer = new HandshakeWriter(buffer.AsSpan(FrameHeader.Size));
        writer.UInt32(counter);
        Write(ref writer);
        return HandshakeFrame.Complete(buffer, writer.Length, FrameType.Nodes);
    }

    /// <summary>Reads a NODES payload.</summary>
    /// <param name="payload">The payload.</param>
    /// <param name="counter">The number of this list in the session.</param>
    /// <param name="announcement">The list, or null.</param>
    /// <returns><see cref="ProtocolError.MalformedNodes"/> when it ends too early.</returns>
    public static ProtocolError TryReadFrame(ReadOnlySpan<byte> payload, out uint counter, out NodeAnnouncement? announcement)
    {
        var reader = new HandshakeReader(payload);
        counter = reader.UInt32();
        announcement = Read(ref reader);
        if (reader.Failed)
        {
            announcement = null;
            return ProtocolError.MalformedNodes;
        }

        return ProtocolError.None;
    }

    internal void Write(ref HandshakeWriter writer)
    {
        if (Others.Count > MaxOthers)
        {
            throw new ArgumentException($"At most {MaxOthers} nodes can be announced.");
        }

        writer.Short(Node);
        writer.Short(Zone);
        writer.Byte((byte)Others.Count);
        foreach (var other in Others)
        {
            writer.Short(other.Node);
            writer.Short(other.Host);
            writer.UInt16((ushort)other.Port);
            writer.Short(other.Zone);
        }
    }

    internal static NodeAnnouncement Read(ref HandshakeReader reader)
    {
        var node = reader.ShortText();
        var zone = reader.ShortText();
        var count = reader.Byte();
        var others = new List<AnnouncedNode>(Math.Min((int)count, MaxOthers));
        for (var i = 0; i < count && !reader.Failed; i++)
        {
            var other = new AnnouncedNode(reader.ShortText(), reader.ShortText(), reader.UInt16(), reader.ShortText());
            if (i < MaxOthers && other.IsValid)
            {
                others.Add(other);
            }
        }

        return new NodeAnnouncement(
            AnnouncedNode.IsText(node) ? node : "", AnnouncedNode.IsText(zone) ? zone : "", others);
    }
}
