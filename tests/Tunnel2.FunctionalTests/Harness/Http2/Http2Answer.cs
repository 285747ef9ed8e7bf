namespace Tunnel2.FunctionalTests.Harness.Http2;

/// <summary>How an exchange over HTTP/2 ended: with a status, or with the stream's or the connection's error code.</summary>
internal sealed record Http2Answer(int Status, IReadOnlyList<(string Name, string Value)> Fields, string Body, int? Reset, int? GoAway)
{
    public string? this[string name] => Fields.Where(field => field.Name == name).Select(static field => field.Value).FirstOrDefault();
}
