// The part of NBomber 4.1.2 and NBomber.Http 4.1.1 that this program calls, as signatures without bodies. A machine whose package
// source does not have NBomber compiles the program against them (-p:NBomberSignatures=true), so that a change of the suite cannot
// break it unseen. It cannot be run like that: every call throws.
using NBomber.Contracts;
using NBomber.Contracts.Stats;
using NBomber.CSharp;

namespace NBomber.Contracts
{
    internal interface IResponse
    {
        string StatusCode { get; }
    }

    internal interface IScenarioContext
    {
        long InvocationNumber { get; }
    }

    internal sealed record Response<T>(string StatusCode, bool IsError, int SizeBytes, string Message, FSharpOption<T> Payload) : IResponse;

    internal sealed record FSharpOption<T>(T Value);

    internal sealed record ScenarioProps(string ScenarioName);

    internal sealed record LoadSimulation(int Rate, TimeSpan Interval, TimeSpan During);

    internal sealed record NBomberContext;
}

namespace NBomber.Contracts.Stats
{
    internal enum ReportFormat
    {
        Txt,
        Html,
        Csv,
        Md,
    }

    internal sealed record NodeStats(ScenarioStats[] ScenarioStats);

    internal sealed record ScenarioStats(string ScenarioName, MeasurementStats Ok, MeasurementStats Fail);

    internal sealed record MeasurementStats(RequestStats Request, LatencyStats Latency);

    internal sealed record RequestStats(int Count, double RPS);

    internal sealed record LatencyStats(
        double MinMs, double MeanMs, double MaxMs, double Percent50, double Percent75, double Percent95, double Percent99);
}

namespace NBomber.CSharp
{
    internal static class Missing
    {
        public static Exception NBomber =>
            new NotSupportedException("This program was compiled without NBomber: build it where its packages are.");
    }

    internal static class Response
    {
        public static Response<object> Ok(string statusCode = "", long sizeBytes = 0, string message = "", double latencyMs = 0) =>
            throw Missing.NBomber;

        public static Response<object> Fail(string statusCode = "", string message = "", long sizeBytes = 0, double latencyMs = 0) =>
            throw Missing.NBomber;
    }

    internal static class Simulation
    {
        public static LoadSimulation Inject(int rate, TimeSpan interval, TimeSpan during) => throw Missing.NBomber;
    }

    internal static class Scenario
    {
        public static ScenarioProps Create(string name, Func<IScenarioContext, Task<IResponse>> run) => throw Missing.NBomber;

        public static ScenarioProps WithWarmUpDuration(this ScenarioProps scenario, TimeSpan duration) => throw Missing.NBomber;

        public static ScenarioProps WithoutWarmUp(this ScenarioProps scenario) => throw Missing.NBomber;

        public static ScenarioProps WithMaxFailCount(this ScenarioProps scenario, int maxFailCount) => throw Missing.NBomber;

        public static ScenarioProps WithLoadSimulations(this ScenarioProps scenario, params LoadSimulation[] loadSimulations) =>
            throw Missing.NBomber;
    }

    internal static class NBomberRunner
    {
        public static NBomberContext RegisterScenarios(params ScenarioProps[] scenarios) => throw Missing.NBomber;

        public static NBomberContext WithTestSuite(this NBomberContext context, string testSuite) => throw Missing.NBomber;

        public static NBomberContext WithTestName(this NBomberContext context, string testName) => throw Missing.NBomber;

        public static NBomberContext WithReportFolder(this NBomberContext context, string reportFolderPath) => throw Missing.NBomber;

        public static NBomberContext WithReportFileName(this NBomberContext context, string reportFileName) => throw Missing.NBomber;

        public static NBomberContext WithReportFormats(this NBomberContext context, params ReportFormat[] reportFormats) =>
            throw Missing.NBomber;

        public static NodeStats Run(this NBomberContext context, params string[] args) => throw Missing.NBomber;
    }
}

namespace NBomber.Http.CSharp
{
    internal static class Http
    {
        public static HttpRequestMessage CreateRequest(string method, string url) => throw Missing.NBomber;

        public static HttpRequestMessage WithBody(this HttpRequestMessage request, HttpContent body) => throw Missing.NBomber;

        public static Task<Response<HttpResponseMessage>> Send(HttpClient client, HttpRequestMessage request) => throw Missing.NBomber;
    }
}
