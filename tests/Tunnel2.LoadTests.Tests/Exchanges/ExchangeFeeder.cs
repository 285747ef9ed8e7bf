using Tunnel2.LoadTests.Exchanges;

namespace Tunnel2.LoadTests.Tests.Exchanges;

/// <summary>Takes the place of a connection.</summary>
internal static class ExchangeFeeder
{
    /// <summary>Hands over parts one after another, each after what the last call left.</summary>
    public static ExchangeStatus Feed(Exchange exchange, params byte[][] parts)
    {
        byte[] rest = [];
        var status = ExchangeStatus.NeedMore;
        foreach (var part in parts.Where(static part => part.Length > 0))
        {
            byte[] bytes = [.. rest, .. part];
            status = exchange.Receive(bytes, out var consumed);
            if (status is ExchangeStatus.Done or ExchangeStatus.Failed)
            {
                return status;
            }

            rest = bytes[consumed..];
        }

        return status;
    }

    /// <summary>Everything that it wants to send now, asked for in pieces.</summary>
    public static byte[] Sent(Exchange exchange, int pieceLength, long from = 0)
    {
        var sent = new List<byte>();
        var piece = new byte[pieceLength];
        while (exchange.Produce(from + sent.Count, piece) is > 0 and var length)
        {
            sent.AddRange(piece[..length]);
        }

        return [.. sent];
    }
}
