using FsCheck;
using FsCheck.Fluent;
using Tunnel2.Http1.Tests.Support;

namespace Tunnel2.Http1.Tests.Heads;

public sealed class RandomHeadTests
{
    [Fact]
    public void What_the_writer_writes_as_a_request_the_parser_reads_back()
    {
        Gen<(string Method, string Target, (string, string)[] Fields)> requests =
            from method in Messages.Token
            from target in Messages.Target
            from fields in Messages.Fields
            select (method, target, fields);

        Prop.ForAll(requests.ToArbitrary(), request =>
        {
            byte[] buffer = new byte[65536];
            var writer = new HeadWriter(buffer);
            writer.WriteRequestLine(Latin1.Bytes(request.Method), Latin1.Bytes(request.Target));
            writer.WriteField("Host"u8, "a"u8);
            foreach ((string name, string value) in request.Fields)
            {
                writer.WriteField(Latin1.Bytes(name), Latin1.Bytes(value));
            }

            if (request.Method is "CONNECT" || writer.WriteEnd() != HeadWriteStatus.Ok)
            {
                return request.Method is "CONNECT";
            }

            string message = Latin1.Text(buffer.AsSpan(0, writer.Written));
            RequestHeadParser parser = Split.Request(message, out ParsedHead head);
            return head.Status == ParseStatus.Done
                && head.Consumed == message.Length
                && message.Substring(parser.Method.Offset, parser.Method.Length) == request.Method
                && message.Substring(parser.Target.Offset, parser.Target.Length) == request.Target
                && head.Fields.SequenceEqual(request.Fields.Prepend(("Host", "a")));
        }).Check(Messages.Runs(60));
    }

    [Fact]
    public void What_the_writer_writes_as_a_response_the_parser_reads_back()
    {
        Gen<(int Status, string Reason, (string, string)[] Fields)> responses =
            from status in Gen.Choose(100, 999)
            from reason in Messages.Value
            from fields in Messages.Fields
            select (status, reason, fields);

        Prop.ForAll(responses.ToArbitrary(), response =>
        {
            byte[] buffer = new byte[65536];
            var writer = new HeadWriter(buffer);
            writer.WriteStatusLine(response.Status, Latin1.Bytes(response.Reason));
            foreach ((string name, string value) in response.Fields)
            {
                writer.WriteField(Latin1.Bytes(name), Latin1.Bytes(value));
            }

            if (writer.WriteEnd() != HeadWriteStatus.Ok)
            {
                return false;
            }

            string message = Latin1.Text(buffer.AsSpan(0, writer.Written));
            ResponseHeadParser parser = Split.Response(message, out ParsedHead head);
            return head.Status == ParseStatus.Done
                && head.Consumed == message.Length
                && parser.StatusCode == response.Status
                && message.Substring(parser.Reason.Offset, parser.Reason.Length) == response.Reason
                && head.Fields.SequenceEqual(response.Fields);
        }).Check(Messages.Runs(60));
    }

    [Fact]
    public void Damaged_requests_are_read_as_a_second_reading_of_the_rules_reads_them()
    {
        int accepted = 0;
        int refused = 0;
        var parser = new RequestHeadParser();
        Gen<string> messages = Messages.Request.SelectMany(_ => Messages.Damage, Messages.Apply);
        Prop.ForAll(messages.ToArbitrary(), message =>
        {
            byte[] bytes = Latin1.Bytes(message);
            parser.Reset();
            ParseStatus status = parser.Parse(bytes, out int consumed);
            ReferenceRequest.Reading? expected = ReferenceRequest.Read(message);
            if (status != ParseStatus.Done || expected is null)
            {
                refused++;
                return status != ParseStatus.Done && expected is null;
            }

            accepted++;
            string Text(ByteRange range) => Latin1.Text(range.Of(bytes));
            return consumed == expected.HeadLength
                && Text(parser.Method) == expected.Method
                && Text(parser.Target) == expected.Target
                && parser.Version == (expected.IsHttp11 ? Http1Version.Http11 : Http1Version.Http10)
                && parser.BodyKind == expected.Body
                && (parser.ContentLength ?? 0) == expected.Length
                && parser.KeepAlive == expected.KeepAlive
                && expected.Fields.SequenceEqual(
                    parser.Fields.ToArray().Select(f => (Latin1.Text(f.Name(bytes)), Latin1.Text(f.Value(bytes)))));
        }).Check(Messages.Runs(15_000));

        // A comparison that only ever sees one answer would say nothing.
        Assert.True(accepted > 3_000 && refused > 3_000, $"{accepted} accepted, {refused} refused");
    }

    [Fact]
    public void Damaged_requests_have_one_answer_however_they_are_split() =>
        Prop.ForAll(
            Messages.Request.SelectMany(_ => Messages.Damage, Messages.Apply).ToArbitrary(), message => { Split.Request(message, out _); })
            .Check(Messages.Runs(200));

    [Fact]
    public void Damaged_responses_have_one_answer_however_they_are_split()
    {
        Gen<string> responses =
            from line in Gen.Elements(
                "HTTP/1.1 200 OK", "HTTP/1.0 404", "HTTP/1.1 101 Switching Protocols", "HTTP/1.1 204 ", "HTTP/1.1 304 x")
            from request in Messages.Request
            from damage in Messages.Damage
            select Messages.Apply(line + request[request.IndexOf("\r\n", StringComparison.Ordinal)..], damage);
        Prop.ForAll(responses.ToArbitrary(), message => { Split.Response(message, out _); }).Check(Messages.Runs(200));
    }

    [Fact]
    public void Random_bytes_are_answered_however_they_are_split() =>
        Prop.ForAll(Gen.Choose(0, 255).ArrayOf().ToArbitrary(), bytes =>
        {
            string message = string.Concat(bytes.Select(b => (char)b));
            Split.Request(message, out _);
            Split.Request("GET / HTTP/1.1\r\nHost: a\r\n" + message, out _);
            Split.Response(message, out _);
            Split.Response("HTTP/1.1 200 OK\r\n" + message, out _);
        }).Check(Messages.Runs(150));
}
