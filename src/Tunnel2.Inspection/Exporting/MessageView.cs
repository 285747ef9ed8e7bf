using System.Buffers.Binary;
using System.Text;
using Tunnel2.Inspection.Bodies;
using Tunnel2.Inspection.Heads;
using Tunnel2.Inspection.Masking;
using Tunnel2.Inspection.Messages;

namespace Tunnel2.Inspection.Exporting;

/// <summary>A message as a viewer sees it: decompressed, and with secrets replaced. Immutable.</summary>
internal readonly record struct MessageView
{
    /// <summary>Its text; null: it has <see cref="Bytes"/>.</summary>
    public string? Text { get; private init; }

    /// <summary>What it has in place of a text.</summary>
    public byte[] Bytes { get; private init; }

    /// <summary>The name of an event; null: it is no event.</summary>
    public string? Event { get; private init; }

    /// <summary>What a person has to know of it, or null.</summary>
    public string? Note { get; private init; }

    /// <summary>Whether secrets were replaced.</summary>
    public bool IsMasked { get; private init; }

    /// <summary>Whether this is only its beginning.</summary>
    public bool IsCut { get; private init; }

    /// <summary>Reads a message.</summary>
    /// <param name="message">What was kept of it.</param>
    /// <param name="rules">What is secret; null: secrets are wanted.</param>
    public static MessageView Of(CapturedMessage message, MaskingRules? rules)
    {
        var kept = message.Kept;
        var view = new MessageView
        {
            Bytes = [],
            Note = message.Content is null ? null : "decompressed",
            IsCut = kept.Length < (message.Content ?? message.Length),
        };
        if (message.IsCompressed)
        {
            if (ContentDecoder.InflateMessage(kept, BodyView.DecodedLimit / 16, out var state) is not { } inflated)
            {
                const string Note = "compressed together with earlier messages";
                return rules is null ? view with { Bytes = kept, Note = Note } : view with { Note = Note + ", so it cannot be masked" };
            }

            kept = inflated;
            view = view with { Note = "decompressed", IsCut = view.IsCut || state == DecodingState.Cut };
        }

        switch (message.Kind)
        {
            case MessageKind.Event:
                var (name, data) = ReadEvent(HeadText.Of(kept));
                var shown = Masked(HeadText.Bytes(data), rules, out var isMasked);
                return view with { Text = HeadText.Of(shown), Event = name, IsMasked = isMasked };
            case MessageKind.Text:
                shown = Masked(kept, rules, out isMasked);
                return view with { Text = Encoding.UTF8.GetString(shown), IsMasked = isMasked };
            case MessageKind.Close when kept.Length < 2:
                return view with { Text = "" };
            case MessageKind.Close:
                shown = Masked(kept[2..], rules, out isMasked);
                var code = BinaryPrimitives.ReadUInt16BigEndian(kept);
                return view with { Text = $"{code} {HeadText.Of(shown)}".TrimEnd(), IsMasked = isMasked };
            case MessageKind.Broken:
                return view with { Text = "", Note = "no WebSocket frames follow" };
            default:
                // Programs send text in binary messages too, and a long one may be cut within a character.
                return BodyView.IsUtf8Beginning(kept)
                    ? view with { Bytes = Masked(kept, rules, out isMasked), IsMasked = isMasked }
                    : view with { Bytes = kept };
        }
    }

    private static (string Name, string Data) ReadEvent(string lines)
    {
        var name = "message";
        var data = new List<string>();
        foreach (var line in lines.Split('\n'))
        {
            var colon = line.IndexOf(':', StringComparison.Ordinal);
            var field = colon < 0 ? line : line[..colon];
            var value = colon < 0 ? "" : line[(colon + 1)..];
            value = value.StartsWith(' ') ? value[1..] : value;
            switch (field.TrimStart('\uFEFF'))
            {
                case "event":
                    name = value;
                    break;
                case "data":
                    data.Add(value);
                    break;
                default:
                    break;
            }
        }

        return (name, string.Join('\n', data));
    }

    private static byte[] Masked(byte[] text, MaskingRules? rules, out bool isMasked)
    {
        isMasked = false;
        return rules is null ? text : rules.OfLines(text, out isMasked);
    }
}
