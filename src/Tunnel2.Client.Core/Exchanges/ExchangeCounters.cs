namespace Tunnel2.Client.Core.Exchanges;

/// <summary>What an exchange moved, for its summary. Each field is written by one of the exchange's two pumps only.</summary>
internal sealed class ExchangeCounters
{
    public long RequestBytes { get; set; }

    public long ResponseBytes { get; set; }

    public int StatusCode { get; set; }

    public void Reset()
    {
        RequestBytes = 0;
        ResponseBytes = 0;
        StatusCode = 0;
    }
}
